// Units that were charged to a key in the store ahead of time, to be spent here without asking.
//
// What makes it keep the promise (at most burst + W / T in any span W, over all processes): a lease melts. Of
// n units, n - elapsed / T are left after some time, less what was spent, rounded down, the time counted from
// before the store was asked. So what is left, times T, is never more than the debt that it left in the store
// and that has not drained yet: by induction over the leases, tat - now >= T x the sum of what is left of
// all. Units spent in a span [a, b] are then at most what was left at a, D / T, and what was charged in it,
// at most (b - a) / T + burst - D / T.
//
// The price: until it has melted, a lease may keep others waiting for units that nobody spends. What is not
// spent need not be given back: it melts here as fast as the debt drains there.
//
// One thread. Bounded: a key that finds no room has no lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::redis {

class Leases {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  // `units` were charged when the store was asked at `asked`, `spent` of them have been used.
  void grant(std::uint64_t key, const Quota& quota, std::uint64_t units, std::uint64_t spent,
             nanoseconds asked, std::uint32_t resets) {
    if (leases_.size() >= kMost) {
      std::erase_if(leases_, [asked](const auto& each) { return each.second.left(asked) == 0; });
      if (leases_.size() >= kMost) return;
    }
    leases_.insert_or_assign(key, Lease{quota, units, spent, asked, resets});
  }

  // An allowance for `cost`, if the key's lease has as much left. What it says is left is the lease's; the
  // key may have more.
  std::optional<Decision> spend(std::uint64_t key, const Quota& quota, Cost cost, nanoseconds now,
                                std::uint32_t resets) {
    const auto found = leases_.find(key);
    if (found == leases_.end()) return std::nullopt;
    Lease& lease = found->second;
    const std::uint64_t left = lease.left(now);
    if (left == 0 || lease.quota != quota || lease.resets != resets) {
      leases_.erase(found);
      return std::nullopt;
    }
    if (left < cost.units) return std::nullopt;
    lease.spent += cost.units;
    const auto rest = static_cast<std::int64_t>(left - cost.units);
    return Decision{Verdict::allowed, quota.burst(), rest, std::nullopt, lease.drained_at() - now};
  }

 private:
  struct Lease {
    Quota quota;
    std::uint64_t units;
    std::uint64_t spent;
    nanoseconds asked;
    std::uint32_t resets;

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

  std::unordered_map<std::uint64_t, Lease> leases_;
};

}  // namespace weir::redis
