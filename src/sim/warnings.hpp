// What makes a report's numbers wrong or worth little although every line was read: a key that tells requests
// apart and not clients, a log shorter than what a limit counts by. A report begins with them.
//
// Pure, any thread. Not for: what is not certain enough to interrupt a reader.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/rule.hpp"
#include "logs/client_index.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// The names of some clients, as reports show them; enough to see of what kind they are.
std::vector<std::string> some_names(const logs::ClientIndex& clients, std::size_t key_parts);

struct TriedRule {
  core::Rule rule;
  std::uint64_t denied;  // requests of the log
};

std::vector<std::string> warnings_of(const LogReport& log, const std::vector<std::string>& names,
                                     std::span<const TriedRule> tried);

// Whether the log is shorter than the period that the limit counts by, by more than a twentieth: a log of a
// day need not have a request in its first and its last hour.
bool beyond_the_log(const LogReport& log, std::chrono::nanoseconds period);

}  // namespace weir::sim
