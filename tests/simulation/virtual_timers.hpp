// A loop's timers in virtual time: the world says when one has run out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "net/timer.hpp"
#include "simulation/chance.hpp"

namespace weir::inline v0_1::simulation {

// By the clock of the machine: `now` is what it shows, and what is given to `at` is called when it shows
// that.
struct VirtualTime {
  std::function<nanoseconds()> now;
  std::function<void(nanoseconds time, std::function<void()> what)> at;
};

class VirtualTimer final : public net::Timer {
 public:
  VirtualTimer(const VirtualTime& time, std::function<void()> call)
      : time_(time), state_(std::make_shared<State>(std::move(call))) {}
  VirtualTimer(const VirtualTimer&) = delete;
  VirtualTimer& operator=(const VirtualTimer&) = delete;
  ~VirtualTimer() override { VirtualTimer::stop(); }

  void set(nanoseconds after) override {
    // One that has run out is not taken back: its machine may stand still.
    if (state_->runs_out > time_.now()) stop();
    if (after > kLongest) return;
    state_->runs_out = time_.now() + std::max(after, nanoseconds{0});
    time_.at(state_->runs_out, [state = state_, stops = state_->stops] {
      if (stops == state->stops) state->call();
    });
  }
  void stop() override { ++state_->stops; }

 private:
  static constexpr nanoseconds kLongest = std::chrono::hours{24 * 365 * 10};
  struct State {
    explicit State(std::function<void()> its_call) : call(std::move(its_call)) {}
    const std::function<void()> call;
    nanoseconds runs_out{0};
    std::uint64_t stops = 0;
  };
  const VirtualTime& time_;
  std::shared_ptr<State> state_;
};

class VirtualTimers final : public net::Timers {
 public:
  // Which has to outlive the timers.
  explicit VirtualTimers(const VirtualTime& time) : time_(time) {}
  std::unique_ptr<net::Timer> make(std::function<void()> call) override {
    return std::make_unique<VirtualTimer>(time_, std::move(call));
  }

 private:
  const VirtualTime& time_;
};

}  // namespace weir::simulation
