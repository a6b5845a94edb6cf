// Which sockets of one thread are ready: an epoll of our own inside Asio's.
//
// Asio serves everything else, but for a connection with one request after another it costs an extra system
// call each time: a read that finds nothing, to learn that it must wait. Here each connection is registered
// once, and one call returns all that are ready (bench/server.py at one request per packet). Those that are
// ready are served in turn; a brake may leave them for later, all alike (brake.hpp).
//
// One thread. It does not own what it watches: remove an object before it is destroyed.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "net/brake.hpp"
#include "net/timer.hpp"

namespace weir::inline v0_1::net {

// What a socket waits for; `end`: for the end of what the peer sends, whatever there is to be read before it.
enum class Want : std::uint8_t { nothing, input, output, end };

class Poller {
 public:
  class Watched {
   public:
    // What it waits for is possible, or the connection has ended. It may remove itself, but no other.
    virtual void on_ready() = 0;

   protected:
    ~Watched() = default;
  };

  // In which sockets are served: it does the work that it is given.
  using Turn = std::function<void(const std::function<void()>& work)>;

  Poller(
      boost::asio::io_context& context, Timers& timers, Turn turn = [](const auto& work) { work(); })
      : epoll_(context, open()),
        again_(timers.make([this] {
          if (brake_->holds && epoll_.is_open()) turn_([this] { serve(); });
        })),
        turn_(std::move(turn)) {
    wait();
  }

  // From now on `brake` says how many sockets are served, by that clock.
  void set_brake(Brake brake, std::function<std::chrono::nanoseconds()> clock) {
    brake_ = std::make_unique<Braked>(std::move(brake), std::move(clock));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (!control(EPOLL_CTL_ADD, brake_->mark, &event))
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
  // What the brake goes by may have changed.
  void look_at_brake() {
    if (brake_ && brake_->holds && brake_->brake.sockets(brake_->clock()) > 0) turn_([this] { serve(); });
  }

  // Changes what one descriptor waits for. False when the kernel has no room for one more.
  bool change(int descriptor, Watched& watched, Want from, Want to) {
    if (from == to) return true;
    if (to == Want::nothing) return control(EPOLL_CTL_DEL, descriptor, nullptr);
    epoll_event event{};
    event.events = to == Want::input ? EPOLLIN : to == Want::output ? EPOLLOUT : EPOLLRDHUP;
    event.data.ptr = &watched;
    return control(from == Want::nothing ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
  }

  void forget(int descriptor) { control(EPOLL_CTL_DEL, descriptor, nullptr); }

  // Lets the context's run() end.
  void stop() {
    boost::system::error_code ignored;
    epoll_.close(ignored);
    again_->stop();
  }

 private:
  struct Braked {
    Braked(Brake its, std::function<std::chrono::nanoseconds()> now)
        : brake(std::move(its)), clock(std::move(now)), mark(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
      if (mark < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    Braked(const Braked&) = delete;
    Braked& operator=(const Braked&) = delete;
    ~Braked() { ::close(mark); }

    Brake brake;
    std::function<std::chrono::nanoseconds()> clock;
    int mark;  // stands in the queue of what is ready
    bool holds = false;
  };

  static int open() {
    const int descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    return descriptor;
  }

  bool control(int operation, int descriptor, epoll_event* event) {
    return epoll_ctl(epoll_.native_handle(), operation, descriptor, event) == 0;
  }

  void wait() {
    epoll_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
      if (error) return;
      if (brake_) return turn_([this] { serve(); });
      turn_([this] { serve_some(kMost); });
      wait();
    });
  }

  // Serves at most that many of those that are ready; how many it served.
  std::size_t serve_some(std::size_t most) {
    std::array<epoll_event, kMost> ready;
    const int count = epoll_wait(epoll_.native_handle(), ready.data(), static_cast<int>(most), 0);
    for (int i = 0; i < count; ++i) {
      void* const watched = ready[static_cast<std::size_t>(i)].data.ptr;
      watched != nullptr ? static_cast<Watched*>(watched)->on_ready() : mark_came();
    }
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  void mark_came() {
    eventfd_t ignored = 0;
    eventfd_read(brake_->mark, &ignored);
    brake_->brake.mark_came(brake_->clock());
  }

  void serve() {
    Braked& its = *brake_;
    its.holds = false;
    for (std::size_t left = kMost; left > 0;) {
      const std::chrono::nanoseconds began = its.clock();
      const std::size_t most = its.brake.sockets(began);
      if (most == 0) return hold(began);
      const std::size_t asked = std::min(most, left);
      const std::size_t served = serve_some(asked);
      if (served > 0) its.brake.served(began, its.clock());
      // It would say so when asked again, for one more call.
      if (served < asked) {
        its.brake.emptied();
        break;
      }
      left -= served;
    }
    if (epoll_.is_open()) wait();
  }

  // Until there is room, or it has lasted too long.
  void hold(std::chrono::nanoseconds now) {
    Braked& its = *brake_;
    its.holds = true;
    if (its.brake.take_mark(now)) eventfd_write(its.mark, 1);
    again_->set(its.brake.look_again() - now);
  }

  static constexpr std::size_t kMost = Brake::kMost;
  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
  Descriptor epoll_;
  std::unique_ptr<Timer> again_;
  const Turn turn_;
  std::unique_ptr<Braked> brake_;
};

}  // namespace weir::net
