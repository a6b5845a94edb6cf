#include "net/timer.hpp"

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <utility>

namespace weir::inline v0_1::net {
namespace {

class AsioTimer final : public Timer {
 public:
  AsioTimer(boost::asio::io_context& context, std::function<void()> call)
      : state_(std::make_shared<State>(context, std::move(call))) {}
  AsioTimer(const AsioTimer&) = delete;
  AsioTimer& operator=(const AsioTimer&) = delete;
  ~AsioTimer() override { AsioTimer::stop(); }

  void set(std::chrono::nanoseconds after) override {
    state_->timer.expires_after(after);
    state_->timer.async_wait([state = state_, stops = state_->stops](const boost::system::error_code& error) {
      if (!error && stops == state->stops) state->call();
    });
  }

  void stop() override {
    ++state_->stops;
    state_->timer.cancel();
  }

 private:
  // Asio's handler may be waiting for its turn when we are stopped or gone.
  struct State {
    State(boost::asio::io_context& context, std::function<void()> its_call)
        : timer(context), call(std::move(its_call)) {}
    boost::asio::steady_timer timer;
    const std::function<void()> call;
    std::uint64_t stops = 0;  // how often it was stopped
  };
  std::shared_ptr<State> state_;
};

class AsioTimers final : public Timers {
 public:
  explicit AsioTimers(boost::asio::io_context& context) : context_(context) {}
  std::unique_ptr<Timer> make(std::function<void()> call) override {
    return asio_timer(context_, std::move(call));
  }

 private:
  boost::asio::io_context& context_;
};

}  // namespace

std::unique_ptr<Timers> asio_timers(boost::asio::io_context& context) {
  return std::make_unique<AsioTimers>(context);
}

std::unique_ptr<Timer> asio_timer(boost::asio::io_context& context, std::function<void()> call) {
  return std::make_unique<AsioTimer>(context, std::move(call));
}

}  // namespace weir::net
