#include "server/file_changes.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limits/set.hpp"
#include "trial/diff.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr std::size_t kMostLines = 64;

std::string lines_of(const std::vector<limits::Difference>& differences) {
  std::string text;
  std::size_t lines = 0;
  for (const limits::Difference& each : differences) {
    if (lines++ == kMostLines)
      return text + "\nand " + std::to_string(differences.size() - kMostLines) + " more";
    text += text.empty() ? "" : "\n";
    text += each.path + ": " + (each.before.empty() ? "added" : each.before) + " -> " +
            (each.after.empty() ? "removed" : each.after);
  }
  return text;
}

steering::OperatorChange reload() { return {.by = {.user = "file", .protocol = "file"}, .verb = "RELOAD"}; }

// One that cannot be used is read again each minute.
auto tell_refused(service::Service& service) {
  return [&service, told = std::make_shared<std::string>()](const std::vector<std::string>& errors) {
    if (std::exchange(*told, errors.front()) == errors.front()) return;
    service.operators.tell({.what = steering::OperatorEvent::What::file_refused,
                            .reason = errors.front(),
                            .count = errors.size()});
  };
}

}  // namespace

void tell_changes(service::Service& service) {
  if (service.limits) {
    service.limits->on_refused = tell_refused(service);
    service.limits->on_change = [&service](const auto& before, const auto& now) {
      const auto file_of = [](const auto& made) -> const limits::File& {
        return std::static_pointer_cast<const limits::Set>(made)->file();
      };
      steering::OperatorChange change = reload();
      change.after = lines_of(limits::differences(file_of(before), file_of(now)));
      service.operators.record(std::move(change), [](bool) {});
    };
  }
  if (!service.descriptors) return;
  service.descriptors->on_refused = tell_refused(service);
  service.descriptors->on_change = [&service](const auto&, const auto&) {
    steering::OperatorChange change = reload();
    change.after = "Envoy's rate limits";
    service.operators.record(std::move(change), [](bool) {});
  };
}

}  // namespace weir::server
