// Does something again and again, until it is stopped.
//
// The thread of the context, which must outlive it. stop() holds even when the timer has run out already and
// its handler is waiting its turn: cancelling a timer does not take that back, and a handler that then waits
// for the next time keeps its loop from ever ending. Not for: what is to happen once.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace weir::inline v0_1::server {

class Every {
 public:
  explicit Every(boost::asio::io_context& context) : next_(context) {}

  // First after `interval`. What an earlier start() began ends; it must not be what calls this.
  void start(std::chrono::nanoseconds interval, std::function<void()> what) {
    interval_ = interval;
    what_ = std::move(what);
    wait(++started_);
  }

  void stop() {
    ++started_;
    next_.cancel();
  }

 private:
  void wait(std::uint64_t started) {
    next_.expires_after(interval_);
    next_.async_wait([this, started](const boost::system::error_code& error) {
      if (error || started != started_) return;
      what_();
      if (started == started_) wait(started);
    });
  }

  boost::asio::steady_timer next_;
  std::chrono::nanoseconds interval_{0};
  std::function<void()> what_;
  std::uint64_t started_ = 0;  // how often it was started or stopped
};

}  // namespace weir::server
