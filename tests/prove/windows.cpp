// The windows that count in two words, on raw words.
#include "core/fixed_window.hpp"
#include "core/sliding_window_counter.hpp"
#include "core/sliding_window_log.hpp"
#include "quota_of.hpp"

namespace fixed_window = weir::core::fixed_window;
namespace sliding_window_counter = weir::core::sliding_window_counter;
namespace sliding_window_log = weir::core::sliding_window_log;

namespace {

weir::Quota window_of(i64 limit, i64 period) { return {{limit, nanoseconds{period}}, limit, nanoseconds{1}}; }

template <class Step>
void tell(const Step& step, u64* out) {
  out[0] = static_cast<u64>(step.verdict);
  out[1] = static_cast<u64>(step.limit);
  out[2] = step.remaining;
  out[3] = step.retry_after;
  out[4] = step.reset_after;
  out[5] = step.next.end;
  out[7] = step.changes ? 1 : 0;
}

void fixed(i64 limit, i64 period, fixed_window::State state, i64 now, u64 cost, fixed_window::Opens opens,
           i64 phase, u64* out) {
  const auto step = fixed_window::decide(window_of(limit, period), state, nanoseconds{now}, weir::Cost{cost},
                                         opens, nanoseconds{phase});
  tell(step, out);
  out[6] = step.next.used;
}

}  // namespace

extern "C" void window_at_request(i64 limit, i64 P, u64 end, u64 used, i64 now, u64 cost, i64 phase,
                                  u64* out) {
  fixed(limit, P, {end, used}, now, cost, fixed_window::Opens::at_first_request, phase, out);
}

extern "C" void window_by_clock(i64 limit, i64 P, u64 end, u64 used, i64 now, u64 cost, i64 phase, u64* out) {
  fixed(limit, P, {end, used}, now, cost, fixed_window::Opens::on_the_clock, phase, out);
}

extern "C" void counter(i64 limit, i64 P, u64 end, u64 counts, i64 now, u64 cost, i64 phase, u64* out) {
  const auto step = sliding_window_counter::decide(window_of(limit, P), {end, counts}, nanoseconds{now},
                                                   weir::Cost{cost}, nanoseconds{phase});
  tell(step, out);
  out[6] = step.next.counts;
}

extern "C" void log_has_left(i64 P, u64 admitted, u64 at, u64* out) {
  out[0] = sliding_window_log::has_left(admitted, static_cast<u64>(P), at) ? 1 : 0;
}

extern "C" void log_until_it_leaves(i64 P, u64 admitted, i64 now, u64* out) {
  out[0] = sliding_window_log::until_it_leaves(admitted, static_cast<u64>(P), nanoseconds{now});
}

extern "C" void log_excess(u64 limit, u64 used, u64 cost, u64* out) {
  out[0] = sliding_window_log::excess_of(limit, used, cost);
}
