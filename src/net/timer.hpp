// How a loop waits for a time: a timer calls one function each time that it runs out.
//
// The thread of the loop. Not for: telling the time (core/clock_function.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace weir::inline v0_1::net {

class Timer {
 public:
  // Nothing is called any more. What the timer calls may destroy it.
  virtual ~Timer() = default;

  // It runs out after that long, once, and no longer when it was set to before. When it had run out already
  // and its turn has not come, it calls then too: a loop that sets it in every turn still hears of it.
  virtual void set(std::chrono::nanoseconds after) = 0;
  // Holds also when it has run out already and its turn has not come.
  virtual void stop() = 0;
};

// What makes a loop's timers: Asio, and in a simulation its clock.
class Timers {
 public:
  virtual ~Timers() = default;

  // It may outlive this. What is called belongs to the loop's thread.
  virtual std::unique_ptr<Timer> make(std::function<void()> call) = 0;
};

using MakeTimers = std::function<std::unique_ptr<Timers>(boost::asio::io_context&)>;

// By the context's own clock; its run() goes on until none is set.
std::unique_ptr<Timers> asio_timers(boost::asio::io_context& context);
std::unique_ptr<Timer> asio_timer(boost::asio::io_context& context, std::function<void()> call);

}  // namespace weir::net
