// WEIR.AUDIT.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "resp/commands.hpp"
#include "resp/limits_words.hpp"
#include "steering/change.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr std::size_t kMostKeys = 16;  // in a line

void take_keys(Arguments keys, steering::OperatorChange& change) {
  for (const std::string_view each : keys.first(std::min(keys.size(), kMostKeys)))
    change.when.emplace_back("key", service::cut({&each, 1}).front());
  if (keys.size() > kMostKeys) change.after = "and " + std::to_string(keys.size() - kMostKeys) + " keys more";
}

// Of WEIR.RESET AS [LIMIT name] attr=value ...; false: it will be refused.
bool take_attributes(Arguments words, Pipeline& pipeline, steering::OperatorChange& change) {
  LimitsWords read;
  std::string error;
  if (!read_limits_words(words, options(Option::limit), pipeline.asker().attributes(), read, error))
    return false;
  change.limit = read.said.limit;
  const limits::Set* const set = pipeline.asker().limits();
  if (set == nullptr || (!change.limit.empty() && set->find(change.limit) == nullptr)) return false;
  for (const limits::Attribute& each : read.attributes) change.when.emplace_back(each.name, each.value);
  return true;
}

}  // namespace

std::optional<steering::OperatorChange> change_of(const Command& command, const RunningCommand& call) {
  const Arguments words = call.words;
  steering::OperatorChange change{.by = call.caller.actor, .verb = std::string(command.name)};
  if (change.verb.starts_with("WEIR.")) change.verb.erase(0, 5);
  if (command.run == run_del) {
    take_keys(words.subspan(1), change);
  } else if (command.run == run_reset) {
    if (words.size() == 2) {
      take_keys(words.subspan(1), change);
    } else if (lower(words[1]) != "as" || !take_attributes(words.subspan(2), call.pipeline, change)) {
      return std::nullopt;
    }
  } else if (command.run == run_limits_config) {
    if (lower(words[1]) != "reload" || call.service.limits == nullptr) return std::nullopt;
    change.verb = "CONFIG RELOAD";
  } else if (command.run == run_shutdown) {
    const bool may = call.caller.peer.local || call.service.options().allow_shutdown;
    if (!may || words.size() > 2) return std::nullopt;
    if (words.size() == 2) change.after = lower(words[1]);
  }
  return change;
}

void run_audit(RunningCommand& call) {
  OptionWords said;
  if (!call.take_options(options(Option::count), said)) return;
  const std::vector<std::string> lines = call.service.operators.recorded(said.count_or(10));
  Writer to = call.reply();
  to.array(lines.size());
  for (const std::string& each : lines) to.bulk(each);
}

}  // namespace weir::resp
