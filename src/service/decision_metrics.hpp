// The families of metrics about decisions and limits: what was counted (decision_counts.hpp), as Prometheus
// reads it.
//
// Any thread. What they can hold is bounded by the limits file: at most 64 series a limit, and none by key.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limits/set.hpp"
#include "service/decision_counts.hpp"
#include "service/exposition.hpp"

namespace weir::inline v0_1::service {

// Those of all loops that speak one protocol.
struct ProtocolCounts {
  std::string_view protocol;
  std::vector<const DecisionCounts*> loops;
};

// `set` is the one in force; null: there is no limits file. Limits that came with their requests are called
// `inline`.
void write_decisions(Exposition& to, const std::vector<ProtocolCounts>& protocols, const limits::Set* set);
// The numbers of the limits in force, without their overrides.
void write_limits(Exposition& to, const limits::Set& set);
// Of limits with slots; `open` and `waiters` by the ids of store::Limit.
void write_in_flight(Exposition& to, const limits::Set& set,
                     const std::unordered_map<std::uint64_t, std::uint64_t>& open);
void write_slot_waiters(Exposition& to, const limits::Set& set,
                        const std::unordered_map<std::uint64_t, std::uint64_t>& waiters);

}  // namespace weir::service
