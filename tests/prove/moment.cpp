// The moment of a reservation under one limit, and what a settlement for more charges, on raw words.
#include "core/moment.hpp"
#include "core/reservation.hpp"
#include "quota_of.hpp"

using weir::core::TwoWords;

extern "C" void moment_one(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 cost, i64 max_wait, u64* out) {
  const auto step = gcra::decide(quota_of(T, B), {tat, stateT}, nanoseconds{now}, weir::Cost{cost});
  const auto moment = weir::core::moment(step, nanoseconds{max_wait});
  out[0] = moment.granted ? 1 : 0;
  out[1] = static_cast<u64>(moment.wait.count());
}

extern "C" void owe(i64 T, i64 B, u64 tat, u64 stateT, u64 units, i64 now, u64* out) {
  const TwoWords state = weir::core::owe(quota_of(T, B), {tat, stateT}, units, nanoseconds{now});
  out[0] = state.until;
  out[1] = state.word;
}
