// The moment of a reservation under three limits, and under one with a guarantee, on raw words. All are of
// gcra's.
#include <array>

#include "core/moment.cpp"
#include "core/rule.cpp"
#include "quota_of.hpp"

namespace {

using weir::core::Demand;
using weir::core::Rule;

void tell(const weir::core::Moment& moment, u64* out) {
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
  out[2] = moment.by;
}

}  // namespace

extern "C" void moment_three(i64 T1, i64 B1, u64 tat1, u64 stateT1, u64 cost1, i64 lowest1, u64 waits1,
                             i64 T2, i64 B2, u64 tat2, u64 stateT2, u64 cost2, i64 lowest2, u64 waits2,
                             i64 T3, i64 B3, u64 tat3, u64 stateT3, u64 cost3, i64 lowest3, u64 waits3,
                             i64 now, i64 max_wait, u64* out) {
  const Rule first{quota_of(T1, B1)};
  const Rule second{quota_of(T2, B2)};
  const Rule third{quota_of(T3, B3)};
  const std::array<Demand, 3> demands{{
      {.rule = &first,
       .state = {tat1, stateT1},
       .cost = weir::Cost{cost1},
       .waits_with = static_cast<std::uint16_t>(waits1),
       .lowest_kept = nanoseconds{lowest1}},
      {.rule = &second,
       .state = {tat2, stateT2},
       .cost = weir::Cost{cost2},
       .waits_with = static_cast<std::uint16_t>(waits2),
       .lowest_kept = nanoseconds{lowest2}},
      {.rule = &third,
       .state = {tat3, stateT3},
       .cost = weir::Cost{cost3},
       .waits_with = static_cast<std::uint16_t>(waits3),
       .lowest_kept = nanoseconds{lowest3}},
  }};
  tell(weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait}), out);
}

// The first is a guarantee, which is checked and not enforced; the second, with its class, is inside of it.
extern "C" void moment_guaranteed(i64 T1, i64 B1, u64 tat1, u64 stateT1, u64 cost1, i64 lowest1, i64 T2,
                                  i64 B2, u64 tat2, u64 stateT2, u64 cost2, i64 lowest2, u64 inside, i64 kept,
                                  i64 now, i64 max_wait, u64* out) {
  const Rule guarantee{quota_of(T1, B1)};
  Rule parent{quota_of(T2, B2)};
  parent.kept = nanoseconds{kept};
  const std::array<Demand, 2> demands{{
      {.rule = &guarantee,
       .state = {tat1, stateT1},
       .cost = weir::Cost{cost1},
       .shadow = true,
       .lowest_kept = nanoseconds{lowest1}},
      {.rule = &parent,
       .state = {tat2, stateT2},
       .cost = weir::Cost{cost2},
       .inside = static_cast<std::uint8_t>(inside),
       .lowest_kept = nanoseconds{lowest2}},
  }};
  tell(weir::core::moment(demands, nanoseconds{now}, nanoseconds{max_wait}), out);
}
