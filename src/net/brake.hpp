// When a loop leaves its clients' requests unread, because what is to decide them is busy.
//
// A request that is read runs against its deadline, and one that cannot be decided in time costs as much as
// one that can. Were all read at once, they would take the processor from what decides, and the loop from
// what it has to send there. So while there is no room the sockets stay unread, and their clients wait. A
// mark that stands in the queue of readable sockets tells how long: when that is more than `patience`,
// sockets are read without room, one at a time. The longer the wait, the more of its time the loop spends on
// them, and so the wait ends at any load.
//
// Plain numbers, one thread; the clock is handed in. Not for: the sockets (poller.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

namespace weir::inline v0_1::net {

class Brake {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kMost = 64;       // sockets at once
  static constexpr std::size_t kPerSocket = 64;  // requests that one may bring
  // A wait of this many times the patience gives half of the loop's time to what is read without room; half
  // of that wait a fifth, a quarter of it a seventeenth.
  static constexpr int kHalfAt = 16;

  // `room`: for how many requests.
  Brake(std::function<std::size_t()> room, nanoseconds patience)
      : room_(std::move(room)), patience_(patience) {}

  // How many sockets may be read now.
  std::size_t sockets(nanoseconds now);
  // They have been.
  void served(nanoseconds began, nanoseconds now);
  // All that was readable has been read.
  void emptied() { waited_ = nanoseconds{0}; }
  // When sockets() is above 0 although no room has come.
  nanoseconds look_again() const;

  // Whether the mark is to join the queue of readable sockets: it is not there yet.
  bool take_mark(nanoseconds now);
  // All that came before the mark have been read.
  void mark_came(nanoseconds now);

 private:
  std::function<std::size_t()> room_;
  nanoseconds patience_;
  bool forced_ = false;              // what is read now has no room
  std::optional<nanoseconds> mark_;  // since when it waits
  nanoseconds waited_{0};            // the one before it
  nanoseconds rests_until_{0};
};

}  // namespace weir::net
