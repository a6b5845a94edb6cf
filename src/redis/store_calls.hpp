// What a shared store asks of Redis: each kind of call is a file, which begins with the request and goes on
// with the answer.
//
//   check_call.cpp      requests of one check, merged where they may be; and leases
//   joint_call.cpp      requests of several checks, charged all or none
//   take_call.cpp       as much of several limits as there is
//   reserve_call.cpp    what is charged for a later moment
//   charge_call.cpp     what is charged afterwards
//   others_free_call.cpp  the same, where those that are over leave the others free
//   penalty_call.cpp    the rest after a breach
//   undo_call.cpp       what ends a reservation: it is cancelled, or settled
//   holds_call.cpp      which holds are open
//   reset_call.cpp      keys that are to be forgotten
//   give_back_call.cpp  what is given back: of requests, and of leases
//
// Each answers its request, at once or when the call is answered. One thread, the store's.
#pragma once

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/severity.hpp"
#include "redis/call.hpp"
#include "redis/script.hpp"
#include "redis/store_parts.hpp"
#include "redis/ticket.hpp"

namespace weir::inline v0_1::redis {

class StoreCall : public Call {
 public:
  explicit StoreCall(StoreParts& in) : in_(in) {}

 protected:
  // `self` is this call, which may be asked again.
  virtual void heard(std::unique_ptr<Call> self, const Result& result, std::chrono::nanoseconds now) = 0;
  // Whether it asks for a window of a calendar; and where another one runs there: the same again, for
  // time_there().
  virtual bool has_calendar() const { return false; }
  virtual void ask_again(std::unique_ptr<Call> /*self*/, std::chrono::nanoseconds /*now*/) {}
  // What time it is in the store, about, for the calendar of a check.
  std::chrono::nanoseconds time_there(const KeptCheck& check, std::chrono::nanoseconds now) const {
    return told_.value_or(in_.known.store_time(now).value_or(check.utc));
  }

  StoreParts& in_;

 private:
  // It takes more than one only where a window ends meanwhile.
  static constexpr int kMostAgain = 3;

  void answered(std::unique_ptr<Call> self, const Result& result) final {
    StoreParts& in = in_;  // which outlives us
    if (result.cause == Cause::none && has_calendar() && again_ < kMostAgain && asks_again(*result.value)) {
      ++again_;
      told_ = decided_at(*result.value);
      ask_again(std::move(self), in.clock());
    } else {
      heard(std::move(self), result, in.clock());
    }
    in.wake();
  }

  int again_ = 0;
  std::optional<std::chrono::nanoseconds> told_;  // with `again_`: the time that it is there
};

// The checks of the first five are well formed.
void check_one(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void check_jointly(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void take(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void reserve(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void charge(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void charge_others_free(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void undo(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void reset(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
void holds(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);

// The request has its answer. One that is denied has it when the keys that it has breached rest; `checks` are
// its own, null for one that the store has not decided.
void finish_with_penalties(StoreParts& in, store::Request& request, std::span<const KeptCheck* const> checks,
                           std::chrono::nanoseconds deadline, std::chrono::nanoseconds now);

// What has waited long enough to be merged leaves.
void release_due(StoreParts& in, std::chrono::nanoseconds now);
// Asks for a lease alone, for those that come later.
void lease_ahead(StoreParts& in, KeptCheck check, std::chrono::nanoseconds deadline,
                 std::chrono::nanoseconds now);

// Several checks are decided by leases when each of them has one with enough left: all or none, and each
// lease keeps the promise for itself. The request is answered.
void spend_jointly(StoreParts& in, store::Request& request, std::span<const KeptCheck* const> kept,
                   std::chrono::nanoseconds now);

// Nobody knows whether these were reserved under that record: if they were, it is taken back.
void take_back(StoreParts& in, std::string record, std::span<const KeptCheck> checks, bool is_held,
               std::chrono::nanoseconds now);

void give_back(StoreParts& in, const KeptCheck& check, std::chrono::nanoseconds charged_at,
               std::chrono::nanoseconds now);
// All of a lease that was not spent: the script takes off what has melted.
void give_back(StoreParts& in, std::uint64_t hash, const Lease& lease, std::chrono::nanoseconds now);
// What was charged while the store's clock was ahead is cut in the store, and told here as the store will say
// it then. Whether it was. `state` is what the store has told of it.
bool mend(StoreParts& in, const KeptCheck& check, const core::Rule& rule, Cost cost, const resp::Value& state,
          std::span<Decision> told, std::chrono::nanoseconds now);

// Of a request of several checks, those that are enforced and that a remembered denial denies. Whether there
// are any: then the request is answered, but for finish().
using Denied = std::bitset<store::kMostChecks>;
inline bool is_denied(StoreParts& in, store::Request& request, const Denied& denied) {
  if (denied.none()) return false;
  request.by = static_cast<std::uint8_t>(core::deciding(request.checks.size(), [&](std::size_t i) {
    return denied[i] ? &request.checks[i].decision : nullptr;
  }));
  request.source = Source::remembered;
  StoreTally::count(in.tally.counters.remembered);
  return true;
}

// A charge whose denials are remembered: one that may be recalled, of windows alone. It is answered where
// each of its checks is denied so.
inline bool recalls(const store::Request& request) {
  return request.charge->recalls &&
         std::all_of(request.checks.begin(), request.checks.end(), [](const store::Check& check) {
           return check.cost.units != 0 && core::denies_to_the_end(check.limit->rule.algorithm);
         });
}
bool recall_charge(StoreParts& in, store::Request& request, std::chrono::nanoseconds now);
// By what a window denies it denies what costs more than it ever admits, too.
inline Cost recalled_cost(const core::Rule& rule, Cost cost) {
  return Cost{std::min(cost.units, static_cast<std::uint64_t>(rule.quota.burst()))};
}
// A check of one has its answer; null: nobody knows. Knowledge::leaves() has been told of it.
void learn_of_charge(StoreParts& in, const KeptCheck& check, const Decision* told,
                     std::chrono::nanoseconds asked, std::chrono::nanoseconds now);

inline constexpr std::string_view kSameKeyTwice = "two checks of a request have the same limit and key";

// The next check of a request whose keys are asked for in one call; or why it cannot be, `apart` being what
// is wrong with keys of different slots.
inline std::optional<std::string> add_beside(StoreParts& in, std::vector<KeptCheck>& checks, KeptCheck kept,
                                             std::string_view apart) {
  if (!checks.empty() && in.slot(kept.name) != in.slot(checks[0].name))
    return "the keys of this request lie in different slots of the cluster, and " + std::string(apart) +
           ": let them share a {hash tag}";
  for (const KeptCheck& other : checks)
    if (other.is_same_key(kept)) return std::string(kSameKeyTwice);
  checks.push_back(std::move(kept));
  return std::nullopt;
}

// Nobody decides the request: `by` is the check for which.
inline void refuse(store::Request& request, std::size_t by, Fault fault, std::string why) {
  request.by = static_cast<std::uint8_t>(by);
  request.fault = fault;
  request.why = std::move(why);
  finish(request);
}

}  // namespace weir::redis
