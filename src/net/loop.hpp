// What the connections of one thread share: the context that runs them, the poller, buffers, the clock.
//
// Everything but the constructor and `context` belongs to the thread that runs the context; before and after,
// to the thread that created it. Knows sessions, but not their protocols.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/notices.hpp"
#include "net/poller.hpp"

namespace weir::net {

class Session;

// Counts over all loops of a program. Relaxed: people read them; only `now` is used for a decision.
struct Counters {
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> now{0};
  std::atomic<std::uint64_t> stalled{0};
};

struct Loop {
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  using Clock = std::function<std::chrono::nanoseconds()>;

  // `number` identifies the loop in its program. A connection that stalls for `stall_timeout` is closed.
  Loop(std::size_t number, Clock clock, std::chrono::nanoseconds stall_timeout, Counters& counters,
       core::Notices& notices);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Looks once a second for connections that stall.
  void start_sweeping();
  void sweep();
  // Answers what has arrived, then closes. No session may be added after it.
  void drain();
  // After run() has ended: closes the sessions that did not end in time.
  void close_sessions();
  // Lets run() end when the sessions have gone.
  void stop();

  const std::size_t number;
  const Clock clock;
  const std::chrono::nanoseconds stall_timeout;
  Counters& counters;
  core::Notices& notices;

  std::vector<char> read_buffer = std::vector<char>(kReadBytes);
  std::string replies;
  // Before the context, whose end is the end of the sessions that still wait in it.
  std::unordered_set<std::shared_ptr<Session>> sessions;
  boost::asio::io_context context{1};
  Poller poller{context};
  // Read once a second by the sweep: precise enough for timeouts of seconds.
  std::chrono::nanoseconds coarse_now;

 private:
  std::vector<std::shared_ptr<Session>> open_sessions() const;

  boost::asio::steady_timer sweep_timer_{context};
};

}  // namespace weir::net
