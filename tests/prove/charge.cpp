// What is charged from outside and taken back, on raw words.
#include "core/overdraft.cpp"
#include "quota_of.hpp"

namespace {

void tell(const weir::core::Overdrawn& told, u64* out) {
  out[0] = told.next.until;
  out[1] = told.next.word;
  out[2] = told.charged;
  out[3] = told.dropped;
}

weir::Outside outside_of(weir::Outside::Form form, u64 units, i64 overdraft, i64 length) {
  weir::Outside outside(form, units, nanoseconds{overdraft});
  outside.length = nanoseconds{length};
  return outside;
}

}  // namespace

extern "C" void charge_cost(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 units, i64 overdraft, u64* out) {
  const auto outside = outside_of(weir::Outside::Form::cost, units, overdraft, 0);
  tell(weir::core::overdraw_gcra({quota_of(T, B)}, {tat, stateT}, nanoseconds{now}, outside), out);
}

extern "C" void charge_remaining(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 units, i64 overdraft,
                                 u64* out) {
  const auto outside = outside_of(weir::Outside::Form::remaining, units, overdraft, 0);
  tell(weir::core::overdraw_gcra({quota_of(T, B)}, {tat, stateT}, nanoseconds{now}, outside), out);
}

extern "C" void charge_pause(i64 T, i64 B, u64 tat, u64 stateT, i64 now, i64 length, i64 overdraft,
                             u64* out) {
  const auto outside = outside_of(weir::Outside::Form::pause, 0, overdraft, length);
  tell(weir::core::overdraw_gcra({quota_of(T, B)}, {tat, stateT}, nanoseconds{now}, outside), out);
}

extern "C" void refund(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 units, u64 least, u64* out) {
  tell(weir::core::refund_gcra({quota_of(T, B)}, {tat, stateT}, nanoseconds{now}, units, least), out);
}
