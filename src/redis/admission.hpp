// Which calls a node is sent now, and which wait here: no node is asked more than it answers in time.
//
// How many answers it may owe, the window says (send_window.hpp). What waits leaves by rank, and then in
// order. Of the usual rank a call is passed over when it has less time left than an answer takes of late, and
// while that happens, what comes after those that wait is not taken. docs/redis-failures.md, "When Redis is
// busy", tells how this acts together with what else keeps a busy store deciding.
//
// One thread, the client's. Not for: sending, and what becomes of a call that is not sent (client.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

#include "redis/calls.hpp"
#include "redis/send_window.hpp"

namespace weir::inline v0_1::redis {

class Admission {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  struct Waiting {
    CallRef call;
    bool asking;
  };

  // By the answers that the node owes. Whether one more may be owed:
  bool has_room(std::size_t owed) const { return owed < window.size(); }
  // How many calls may come now: what is under way takes a quarter of a deadline, and what waits here may
  // take half as long. A few may wait anyway, which costs next to nothing.
  std::size_t room(std::size_t owed) const {
    const std::size_t most = window.size() + std::max(window.size() / 2, kFew);
    return most - std::min(most, owed + waits());
  }
  // While some that wait could not leave in time, what comes after them would only make others late.
  bool takes(Rank rank, std::size_t owed, nanoseconds now) const {
    return rank != Rank::usual || now >= busy_until_ || room(owed) > 0;
  }

  void wait(Rank rank, Waiting call) { lanes_[rank == Rank::first ? 0 : 1].push_back(call); }
  // The node is up: what waits, waits for room from now on.
  void hold(Calls& calls) const {
    for (const auto& lane : lanes_) {
      for (const Waiting& each : lane) {
        if (calls.waits(each.call)) calls[each.call.call].held = true;
      }
    }
  }
  std::size_t waits() const { return lanes_[0].size() + lanes_[1].size(); }
  // The one that leaves next, which waits no more.
  std::optional<Waiting> next() {
    for (auto& lane : lanes_) {
      if (lane.empty()) continue;
      const Waiting first = lane.front();
      lane.pop_front();
      return first;
    }
    return std::nullopt;
  }
  // Whether the answer to it would come too late, and make the others later.
  bool passes_over(const OpenCall& call, nanoseconds now) {
    const nanoseconds left = call.deadline - now;
    if (call.rank != Rank::usual || left.count() <= 0 || left >= window.needed(call.patience)) return false;
    busy_until_ = now + kBusyFor;
    return true;
  }
  // How long an answer may take to a call that is made now. It would wait as long as the one that leaves
  // next; that may have waited in vain.
  nanoseconds needed(const Calls& calls, nanoseconds patience, nanoseconds now) const {
    if (lanes_[1].empty()) return window.needed(patience);
    const CallRef next = lanes_[1].front().call;
    const OpenCall& call = calls[next.call];
    return window.needed(patience) + (calls.waits(next) ? now - (call.deadline - call.patience) : patience);
  }

  SendWindow window{};

 private:
  static constexpr std::size_t kFew = 256;
  static constexpr nanoseconds kBusyFor = std::chrono::seconds{1};

  std::array<std::deque<Waiting>, 2> lanes_{};
  nanoseconds busy_until_{0};  // a call that waited could not leave in time lately
};

}  // namespace weir::redis
