// How many questions a node may owe an answer to: as many as it has shown that it answers within a quarter of
// their time, so that what is sent is answered in time and the rest waits here, where it can still be
// decided. A quarter is for coming late to an answer that is there, and a quarter for waiting here.
//
// Each answer moves the bound by how long it took against its target: a bare round trip, and a quarter of
// what the asker's patience leaves beside that. How long it lay here unread does not count, up to twice that:
// where many processes share a processor each comes late to its answers, and asking for less would not mend
// it. Several askers of one node see one queue, and so end with the same bound. A node that answers `rate` a
// second, one after another, answers the last of N after N / rate: at rest N is rate times the target. At
// first each answer lets one more in, which doubles the bound in a round trip, until answers begin to queue;
// then as much more or less as the target is from the time it took. One that came too late takes back all
// that was too much, so that a node that became ten times slower is asked a tenth a round trip later. When
// half as much under way takes as long as all of it did, it is not that which takes the time: the way has
// become longer.
//
// Plain numbers, one thread. Not for: what waits (admission.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace weir::inline v0_1::redis {

class SendWindow {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr double kFirst = 256;
  static constexpr double kLeast = 4;  // so that what the node can do is always seen
  static constexpr double kMost = 1 << 20;

  std::size_t size() const { return static_cast<std::size_t>(size_); }

  struct Answer {
    nanoseconds sent;                      // when its question was
    nanoseconds read;                      // when it was; late ones count like the others
    nanoseconds patience;                  // of its asker
    std::size_t owed;                      // answers that the node owed when it was sent, this one too
    std::optional<nanoseconds> decided{};  // when, by the node's clock
  };
  void answered(const Answer& answer);
  // The answer to something that is not a call took that long, with nothing before it.
  void timed(nanoseconds took) { round_trip_ = took_ = took; }

  // The shortest that an answer has taken, or what the last took that was alone; 0: none has come.
  nanoseconds round_trip() const { return round_trip_; }
  // How long a call's answer may take if it is sent now: what the last ones took, and four times how much
  // that varied, as TCP reckons (RFC 6298, section 2), or a little. Never all of the patience that a fresh
  // call has beside a round trip, or a node that was slow would not be asked again.
  nanoseconds needed(nanoseconds patience) const;

 private:
  // A quarter of what is left beside a round trip, and the round trip.
  nanoseconds target(nanoseconds patience) const {
    return round_trip_ < patience ? round_trip_ + (patience - round_trip_) / 4 : patience;
  }

  nanoseconds lay_here(const Answer& answer);

  double size_ = kFirst;
  bool searching_ = true;  // no answer has had to queue yet
  nanoseconds round_trip_{0};
  nanoseconds took_{0};    // smoothed
  nanoseconds varied_{0};  // and by how much, smoothed
  // The least by which our clock has been ahead of the node's when an answer was read, in this span of time
  // and in the one before.
  std::array<nanoseconds, 2> ahead_ = {nanoseconds::max(), nanoseconds::max()};
  nanoseconds span_ends_{0};
  // The answer with the most owed among those in a row that took too long: how many, and how long it took.
  std::size_t owed_then_ = 0;
  nanoseconds took_then_{0};
};

}  // namespace weir::redis
