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

// The first alone, and with the second as a shadow before it (`where` 0) or after it.
extern "C" void moment_alone(i64 T, i64 B, u64 tat, u64 stateT, u64 cost, i64 lowest, i64 now, i64 max_wait,
                             u64* out) {
  const Rule rule{quota_of(T, B)};
  const std::array<Demand, 1> demands{{{.rule = &rule,
                                        .state = {tat, stateT},
                                        .cost = weir::Cost{cost},
                                        .lowest_kept = nanoseconds{lowest}}}};
  const auto moment = weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait});
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
}

extern "C" void moment_before_shadow(i64 T1, i64 B1, u64 tat1, u64 stateT1, u64 cost1, i64 lowest1, i64 T2,
                                     i64 B2, u64 tat2, u64 stateT2, u64 cost2, i64 lowest2, i64 now,
                                     i64 max_wait, u64* out) {
  const Rule first{quota_of(T1, B1)};
  const Rule second{quota_of(T2, B2)};
  const std::array<Demand, 2> demands{{
      {.rule = &first,
       .state = {tat1, stateT1},
       .cost = weir::Cost{cost1},
       .lowest_kept = nanoseconds{lowest1}},
      {.rule = &second,
       .state = {tat2, stateT2},
       .cost = weir::Cost{cost2},
       .shadow = true,
       .lowest_kept = nanoseconds{lowest2}},
  }};
  const auto moment = weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait});
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
  out[2] = moment.by;
}

extern "C" void moment_after_shadow(i64 T1, i64 B1, u64 tat1, u64 stateT1, u64 cost1, i64 lowest1, i64 T2,
                                    i64 B2, u64 tat2, u64 stateT2, u64 cost2, i64 lowest2, i64 now,
                                    i64 max_wait, u64* out) {
  const Rule first{quota_of(T1, B1)};
  const Rule second{quota_of(T2, B2)};
  const std::array<Demand, 2> demands{{
      {.rule = &second,
       .state = {tat2, stateT2},
       .cost = weir::Cost{cost2},
       .shadow = true,
       .lowest_kept = nanoseconds{lowest2}},
      {.rule = &first,
       .state = {tat1, stateT1},
       .cost = weir::Cost{cost1},
       .lowest_kept = nanoseconds{lowest1}},
  }};
  const auto moment = weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait});
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
  out[2] = moment.by;
}
