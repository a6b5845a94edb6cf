// The moment of a reservation under two limits, on raw words. Both are of gcra's, and neither is a guarantee.
#include <array>

#include "core/moment.cpp"
#include "quota_of.hpp"

namespace {

using weir::core::Demand;
using weir::core::Rule;

}  // namespace

extern "C" void moment_two(i64 T1, i64 B1, u64 tat1, u64 stateT1, u64 cost1, i64 lowest1, u64 waits1, i64 T2,
                           i64 B2, u64 tat2, u64 stateT2, u64 cost2, i64 lowest2, u64 waits2, i64 now,
                           i64 max_wait, u64* out) {
  const Rule first{quota_of(T1, B1)};
  const Rule second{quota_of(T2, B2)};
  const std::array<Demand, 2> demands{{
      {.rule = &first,
       .state = {tat1, stateT1},
       .cost = weir::Cost{cost1},
       .waits_with = static_cast<std::uint16_t>(waits1 << 1),
       .lowest_kept = nanoseconds{lowest1}},
      {.rule = &second,
       .state = {tat2, stateT2},
       .cost = weir::Cost{cost2},
       .waits_with = static_cast<std::uint16_t>(waits2),
       .lowest_kept = nanoseconds{lowest2}},
  }};
  const auto moment = weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait});
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
  out[2] = moment.by;
}
