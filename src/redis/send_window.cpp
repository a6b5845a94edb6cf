#include "redis/send_window.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

namespace {

constexpr nanoseconds kSpan = std::chrono::milliseconds{250};

}  // namespace

// How long an answer lay unread because we were busy, or did not run: how much later it was read after it was
// decided than those of the last span or two that were read at once. Queues at the node do not change that.
nanoseconds SendWindow::lay_here(const Answer& answer) {
  if (!answer.decided) return nanoseconds{0};
  if (answer.read >= span_ends_) {
    ahead_ = {nanoseconds::max(), answer.read < span_ends_ + kSpan ? ahead_[0] : nanoseconds::max()};
    span_ends_ = answer.read + kSpan;
  }
  const nanoseconds ahead = answer.read - *answer.decided;
  ahead_[0] = std::min(ahead_[0], ahead);
  const nanoseconds late = ahead - std::min(ahead_[0], ahead_[1]);
  if (late <= answer.read - answer.sent) return late;
  // It was asked for later than that: the node's clock has stepped back.
  ahead_ = {ahead, ahead};
  return nanoseconds{0};
}

void SendWindow::answered(const Answer& answer) {
  const auto [sent, read, patience, owed, decided] = answer;
  const nanoseconds whole = std::max(read - sent, nanoseconds{1});
  // No more than leaves an answer in time: what looks like lateness may be a step of the node's clock.
  const nanoseconds late = std::min(lay_here(answer), (patience - std::min(round_trip_, patience)) / 2);
  const nanoseconds took = std::max(whole - late, nanoseconds{1});
  // With next to nothing under way it is a bare round trip, though it may be longer than it was.
  if (round_trip_.count() == 0 || took < round_trip_ || static_cast<double>(owed) <= kLeast)
    round_trip_ = took;

  // Over about half of what is under way: the answers that come together took longer and longer.
  const auto share = static_cast<std::int64_t>(8 + owed / 2);
  const nanoseconds off = whole > took_ ? whole - took_ : took_ - whole;
  took_ += (whole - took_) / share;
  varied_ += (off - varied_) / share;

  if (round_trip_ >= patience) return;  // whatever the bound is, nothing is answered in time
  const nanoseconds goal = target(patience);
  if (took > goal) {
    searching_ = false;
    const bool half = owed * 2 <= owed_then_;
    if (half && took > took_then_ - took_then_ / 4) round_trip_ = took;
    if (half || owed > owed_then_) {
      owed_then_ = owed;
      took_then_ = took;
    }
  } else {
    owed_then_ = 0;
  }
  const bool unqueued = took < round_trip_ + (goal - round_trip_) / 3;
  const double off_goal = static_cast<double>(goal.count()) / static_cast<double>(took.count()) - 1;
  const double step = searching_         ? 1
                      : unqueued         ? 0.25
                      : took <= patience ? std::min(off_goal / 2, 0.25)
                                         : off_goal;
  // A bound that did not bind says nothing about a larger one; and what is too much already is the most.
  if (step > 0 && static_cast<double>(owed) * 2 < size_) return;
  if (took > patience) size_ = std::min(size_, static_cast<double>(owed));
  size_ = std::clamp(size_ + step, kLeast, kMost);
}

nanoseconds SendWindow::needed(nanoseconds patience) const {
  const nanoseconds goal = target(patience);
  const nanoseconds spare = patience - goal;
  return std::min(took_ + std::max(4 * varied_, spare / 4), goal + spare / 2);
}

}  // namespace weir::redis
