// GCRA's functions on raw words, for proofs: what ships is called, nothing of it is written again.
#include "quota_of.hpp"

extern "C" void gcra_decide(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 cost, i64 arrived, i64 kept,
                            u64* out) {
  const auto step = gcra::decide(quota_of(T, B), {tat, stateT}, nanoseconds{now}, weir::Cost{cost},
                                 nanoseconds{arrived}, nanoseconds{kept});
  out[0] = static_cast<u64>(step.verdict);
  out[1] = static_cast<u64>(step.limit);
  out[2] = step.remaining;
  out[3] = step.retry_after;
  out[4] = step.reset_after;
  out[5] = step.next.tat;
  out[6] = step.next.interval;
  out[7] = step.changes ? 1 : 0;
}

extern "C" void gcra_give_back(i64 T, i64 B, u64 tat, u64 stateT, i64 now, u64 cost, i64 charged, u64* out) {
  const auto state = gcra::give_back(quota_of(T, B), {tat, stateT}, nanoseconds{now}, weir::Cost{cost},
                                     nanoseconds{charged});
  out[0] = state.tat;
  out[1] = state.interval;
}
