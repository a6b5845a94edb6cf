// How a server ends: at a signal or on request. First it says that it leaves, and serves on for a grace; then
// its connections end, in a bounded time. The next signal cuts short what is under way of these. What
// follows, a last snapshot above all, no signal keeps from happening.
//
// The thread of the context, except request().
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "net/timer.hpp"

namespace weir::inline v0_1::server {

class Shutdown {
 public:
  // How long connections may take to end.
  static constexpr std::chrono::seconds kDrainAtMost{5};

  struct Steps {
    std::function<void()> leave;     // tells those that ask; called once
    std::function<void()> drain;     // stops accepting and lets connections drain; called once
    std::function<bool()> drained;   // whether they have gone; asked until it says so
    std::function<void()> let_end;   // then
    std::function<void()> make_end;  // or when it takes too long
  };

  // From now on a signal does not end the program; run() handles it.
  Shutdown(boost::asio::io_context& context, std::chrono::milliseconds grace, Steps steps);

  void start();
  void begin();

 private:
  void drain();
  void watch();

  enum class Stage : std::uint8_t { serving, leaving, draining };

  const std::chrono::milliseconds grace_;
  Steps steps_;
  boost::asio::signal_set signals_;
  const std::unique_ptr<net::Timer> grace_ends_;
  const std::unique_ptr<net::Timer> longest_;
  const std::unique_ptr<net::Timer> next_look_;
  Stage stage_ = Stage::serving;
};

}  // namespace weir::server
