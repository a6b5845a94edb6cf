// Units that were charged to a key in the store ahead of time, to be spent here without asking; what is left
// when a lease ends is given back.
//
// What makes it keep the promise (at most burst + W / T in any span W, over all processes): a lease melts. Of
// n units, n - elapsed / T are left after some time, less what was spent, rounded down, the time counted from
// before the store was asked. Let D be the debt in the store, tat - now, and L the sum over all leases of
// (units - spent) x T - elapsed, where that is positive. Then D - L, the debt of what was really admitted:
//
//   - is never negative, and never above burst x T: each lease added to D what it added to L, both fall with
//     time, and what is given back is taken off both;
//   - grows by T with every unit that is admitted, from a lease (L falls) or by the store (D grows);
//   - falls by no more than the time that passes.
//
// So in a span W no more than burst x T + W of it can be added.
//
// No process hears of a pause that another has asked for, so a lease lasts for a second at most: in a pause
// nothing is spent after that. The process that asked ends the key's leases at once (Knowledge::forget()).
//
// The price: while a lease lasts it may keep others waiting for units that nobody spends, and when its
// process is killed, until they have drained.
//
// One thread. Bounded: a key that finds no room has no lease.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::redis {

struct Lease {
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr nanoseconds kLongest = std::chrono::seconds{1};

  std::string key;
  Quota quota;
  std::uint64_t units;
  std::uint64_t spent;
  nanoseconds asked;       // on our clock
  nanoseconds charged_at;  // on the store's
  nanoseconds until;       // on ours: then it ends
  std::uint32_t resets;    // of the key, when it was asked for

  std::uint64_t left(nanoseconds now) const {
    const std::int64_t interval = quota.emission_interval().count();
    const std::int64_t elapsed = (now - asked).count();
    const std::uint64_t gone =
        spent + (elapsed <= 0 ? 0 : static_cast<std::uint64_t>((elapsed - 1) / interval + 1));
    return gone >= units ? 0 : units - gone;
  }
  nanoseconds drained_at() const {
    return asked + quota.emission_interval() * static_cast<std::int64_t>(units);
  }
};

class Leases {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  // Returns what is to be given back: the key's former lease, or this one when there is no room.
  std::optional<Lease> grant(std::uint64_t hash, Lease lease) {
    const auto found = leases_.find(hash);
    if (found != leases_.end()) return std::exchange(found->second, std::move(lease));
    if (leases_.size() >= kMost) return lease;
    leases_.emplace(hash, std::move(lease));
    return std::nullopt;
  }

  // Whether spend() would allow it.
  bool has(std::uint64_t hash, const Quota& quota, Cost cost, nanoseconds now, std::uint32_t resets) const {
    const auto found = leases_.find(hash);
    return found != leases_.end() && allows(found->second, quota, cost, now, resets);
  }

  // An allowance for `cost`, if the key's lease has as much left. What it says is left is the lease's; the
  // key may have more.
  struct Spent {
    Decision decision;
    nanoseconds charged_at;  // of the lease, on the store's clock
  };
  std::optional<Spent> spend(std::uint64_t hash, const Quota& quota, Cost cost, nanoseconds now,
                             std::uint32_t resets) {
    const auto found = leases_.find(hash);
    if (found == leases_.end()) return std::nullopt;
    Lease& lease = found->second;
    if (!allows(lease, quota, cost, now, resets)) return std::nullopt;
    const auto rest = static_cast<std::int64_t>(lease.left(now) - cost.units);
    lease.spent += cost.units;
    return Spent{{Verdict::allowed, quota.burst(), rest, std::nullopt, lease.drained_at() - now},
                 lease.charged_at};
  }

  // Takes out those that have ended by `now`, and returns the ones of which something is left.
  std::vector<std::pair<std::uint64_t, Lease>> end(nanoseconds now, bool all = false) {
    std::vector<std::pair<std::uint64_t, Lease>> ended;
    std::erase_if(leases_, [&](const auto& each) {
      const Lease& lease = each.second;
      const bool over = lease.left(now) == 0;
      if (!over && !all && now < lease.until) return false;
      if (!over) ended.emplace_back(each.first, lease);
      return true;
    });
    return ended;
  }

  // Takes out that of one key.
  std::optional<Lease> end(std::uint64_t hash) {
    const auto found = leases_.find(hash);
    if (found == leases_.end()) return std::nullopt;
    std::optional<Lease> ended(std::move(found->second));
    leases_.erase(found);
    return ended;
  }

  bool empty() const { return leases_.empty(); }

 private:
  static bool allows(const Lease& lease, const Quota& quota, Cost cost, nanoseconds now,
                     std::uint32_t resets) {
    const std::uint64_t left = lease.left(now);
    return left > 0 && left >= cost.units && now < lease.until && lease.quota == quota &&
           lease.resets == resets;
  }

  std::unordered_map<std::uint64_t, Lease> leases_;
};

}  // namespace weir::redis
