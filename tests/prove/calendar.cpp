// Windows by the calendar, on raw words: the calendar itself is whatever window it says runs, and the one
// that a state counts.
#include "core/calendar_window.hpp"
#include "quota_of.hpp"

namespace {

struct Windows {
  weir::core::CalendarWindow runs;
  i64 end;  // of the one that was counted

  weir::core::CalendarWindow at(nanoseconds) const { return runs; }
  weir::core::CalendarWindow of(u64 id) const { return {nanoseconds{0}, nanoseconds{end}, id}; }
  static weir::core::Calendar::Unit unit() { return weir::core::Calendar::Unit::day; }
};

}  // namespace

extern "C" void calendar_window(i64 limit, u64 until, u64 id, u64 used, i64 now, i64 utc, u64 runs_id,
                                i64 runs_end, i64 its_end, u64 cost, u64* out) {
  namespace calendar_window = weir::core::calendar_window;
  const Windows windows{{nanoseconds{0}, nanoseconds{runs_end}, runs_id}, its_end};
  const weir::Quota quota{{limit, nanoseconds{1}}, limit, nanoseconds{1}};
  const auto step = calendar_window::decide(quota, windows, {until, calendar_window::word_of(id, used)},
                                            nanoseconds{now}, nanoseconds{utc}, weir::Cost{cost});
  out[0] = static_cast<u64>(step.verdict);
  out[1] = step.remaining;
  out[2] = step.retry_after;
  out[3] = calendar_window::id_of(step.next.word);
  out[4] = calendar_window::used_of(step.next.word);
  out[5] = step.next.until;
  out[6] = step.changes ? 1 : 0;
}
