// What the connections of one thread share: the context that runs them, the poller, buffers, the clock.
//
// Everything but the constructor and `context` belongs to the thread that runs the context; before and after,
// to the thread that created it. Knows sessions, but not their protocols.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/notices.hpp"
#include "net/client_memory.hpp"
#include "net/poller.hpp"
#include "net/timer.hpp"

namespace weir::inline v0_1::net {

class Session;
struct Loop;
struct HandedOver;

// What all loops of a program count together. Relaxed: people read them, and for what is decided by `now`,
// `delayed` and `memory` one more or less does not matter.
struct LoopCounters {
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> now{0};
  std::atomic<std::uint64_t> stalled{0};
  std::atomic<std::uint64_t> delayed{0};  // connections whose answer is held back now
  ClientMemory memory;
  std::vector<Loop*> loops{};  // of the program; each adds itself when it is made
};

struct Loop {
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  using Clock = std::function<std::chrono::nanoseconds()>;

  // `number` identifies the loop in its program. A connection that stalls for `stall_timeout` is closed.
  // `make_timers`: what time is to its timers.
  Loop(std::size_t number, Clock clock, std::chrono::nanoseconds stall_timeout, LoopCounters& counters,
       core::Notices& notices, const MakeTimers& make_timers = asio_timers);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Looks for connections that stall: each second, more often if the timeout is short.
  void start_sweeping();
  // Looks more often, as long as answers are held back.
  void hurry();
  void sweep();
  // Answers what has arrived, then closes. No session may be added after it.
  void drain();
  // Reads nothing more of its connections, nor of those that come, until go_on().
  void hold() { holds_ = true; }
  bool holds() const { return holds_; }
  void go_on();
  // While it holds: nothing that was read waits for its answer.
  bool is_settled() const;
  // Tells those to connect again whose protocol has words for that; whether there are any.
  bool say_goodbye();
  // Those that can go on in another process; the others answer what has arrived, and end.
  std::vector<HandedOver> hand_over();
  // Those that hand_over() has not told of: as soon as what they are being sent has been taken.
  void cut_others();
  // After run() has ended: closes the sessions that did not end in time.
  void close_sessions();
  // Closes the session that has sent nothing for longest.
  void close_quietest();
  // Lets run() end when the sessions have gone.
  void stop();
  // Lets a session go on whose answers have come: not at once, because the call comes from the store's
  // functions, but when the turn is over that is being made; without one, in a turn of its own.
  void resume(std::weak_ptr<Session> session);
  // Does that, and then lets those go on whose answers came of it, and what was left for later: Asio would
  // look at its descriptors before the handlers that were posted, and that is a system call. One within
  // another is part of it.
  void turn(const std::function<void()>& work);
  // When the turn is over that is being made; without one, in a turn of its own.
  void later(std::function<void()> work);
  // What a session keeps has changed. Above the bound for all, the largest holders are closed in a later
  // turn.
  void charge(Session& session, std::chrono::nanoseconds since, const MemoryCharge& from,
              const MemoryCharge& to);

  // When it last did something by itself, as it does every second while it runs; on its clock. Any thread.
  std::chrono::nanoseconds beat() const { return beat_.load(std::memory_order_relaxed); }

  const std::size_t number;
  const Clock clock;
  const std::chrono::nanoseconds stall_timeout;
  LoopCounters& counters;
  core::Notices& notices;

  std::vector<char> read_buffer = std::vector<char>(kReadBytes);
  std::string replies;
  // Before the context, whose end is the end of the sessions that still wait in it.
  std::unordered_set<std::shared_ptr<Session>> sessions;
  // One thread runs it, so what it watches needs no locks; others only post to it.
  boost::asio::io_context context{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  const std::unique_ptr<Timers> timers;
  Poller poller{context, *timers, [this](const std::function<void()>& work) { turn(work); }};
  Holders holders;

 private:
  void ask_for_relief();  // any thread
  void relieve();
  std::vector<std::shared_ptr<Session>> open_sessions() const;

  const std::unique_ptr<Timer> sweep_timer_;
  std::atomic<std::chrono::nanoseconds> beat_{std::chrono::nanoseconds::max()};  // not yet
  bool hurried_ = false;
  bool draining_ = false;
  bool holds_ = false;
  bool in_turn_ = false;
  std::vector<std::weak_ptr<Session>> resumed_;  // by this turn
  std::vector<std::function<void()>> later_;
  std::atomic<bool> relief_asked_{false};
};

}  // namespace weir::net
