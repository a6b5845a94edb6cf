#include "service/users_in_force.hpp"

#include <sys/stat.h>

#include "core/plural.hpp"
#include "core/regular_file.hpp"

namespace weir::inline v0_1::service {

UsersInForce::Compiled UsersInForce::compile(const std::shared_ptr<const void>&) const {
  Compiled compiled;
  compiled.stamps.emplace(path(), stamp_of(path()));
  const auto text = core::read_regular_file(path(), steering::Users::kMostBytes);
  if (!text) {
    compiled.errors.push_back(to_text(limits::Finding{.file = path(), .path = {}, .text = text.error()}));
    return compiled;
  }
  struct stat found{};
  if (stat(path().c_str(), &found) == 0 && (found.st_mode & 077) != 0)
    compiled.warnings.push_back(to_text(
        limits::Finding{.severity = limits::Severity::warning,
                        .file = path(),
                        .path = {},
                        .text = "others than its owner may read or write it; chmod 600 is meant for it"}));
  std::vector<limits::Finding> findings;
  const auto users = steering::Users::read(
      *text, {.name = path(), .now = now(), .certificates = options_.certificates, .taken = options_.taken},
      findings);
  for (const limits::Finding& each : findings)
    (each.severity == limits::Severity::error ? compiled.errors : compiled.warnings).push_back(to_text(each));
  if (!users) return compiled;
  compiled.text = *text;
  compiled.counts = core::counted(users->size(), "user");
  compiled.made = users;
  return compiled;
}

void UsersInForce::add_rows(Metrics& metrics) const {
  metrics.add([this](Exposition& to) { write_families(to, "weir_users", "users file"); });
}

}  // namespace weir::service
