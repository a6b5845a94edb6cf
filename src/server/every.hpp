// Does something again and again, until it is stopped.
//
// The thread of the timers' loop. Not for: what is to happen once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "net/timer.hpp"

namespace weir::inline v0_1::server {

class Every {
 public:
  explicit Every(net::Timers& timers) : next_(timers.make([this] { call(); })) {}

  // First after `interval`. What an earlier start() began ends; it must not be what calls this.
  void start(std::chrono::nanoseconds interval, std::function<void()> what) {
    stop();
    goes_on_ = true;
    interval_ = interval;
    what_ = std::move(what);
    next_->set(interval_);
  }

  void stop() {
    goes_on_ = false;
    next_->stop();
  }

 private:
  void call() {
    what_();
    if (goes_on_) next_->set(interval_);
  }

  const std::unique_ptr<net::Timer> next_;
  std::chrono::nanoseconds interval_{0};
  std::function<void()> what_;
  bool goes_on_ = false;
};

}  // namespace weir::server
