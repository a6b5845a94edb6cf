// Which sockets of one thread are ready: an epoll of our own inside Asio's.
//
// Asio serves everything else, but for a connection with one request after another it costs an extra system
// call each time: a read that finds nothing, to learn that it must wait. Here each connection is registered
// once, and one call returns all that are ready (bench/server.py at one request per packet).
//
// One thread. It does not own what it watches: remove an object before it is destroyed.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace weir::net {

// What a socket waits for.
enum class Want : std::uint8_t { nothing, input, output };

class Poller {
 public:
  class Watched {
   public:
    // What it waits for is possible, or the connection has ended. It may remove itself, but no other.
    virtual void on_ready() = 0;

   protected:
    ~Watched() = default;
  };

  explicit Poller(boost::asio::io_context& context) : epoll_(context, open()) { wait(); }

  // Changes what one descriptor waits for. False when the kernel has no room for one more.
  bool change(int descriptor, Watched& watched, Want from, Want to) {
    if (from == to) return true;
    if (to == Want::nothing) return control(EPOLL_CTL_DEL, descriptor, nullptr);
    epoll_event event{};
    event.events = to == Want::input ? EPOLLIN : EPOLLOUT;
    event.data.ptr = &watched;
    return control(from == Want::nothing ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
  }

  // Lets the context's run() end.
  void stop() {
    boost::system::error_code ignored;
    epoll_.close(ignored);
  }

 private:
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
      std::array<epoll_event, 64> ready;
      const int count = epoll_wait(epoll_.native_handle(), ready.data(), static_cast<int>(ready.size()), 0);
      for (int i = 0; i < count; ++i)
        static_cast<Watched*>(ready[static_cast<std::size_t>(i)].data.ptr)->on_ready();
      wait();
    });
  }

  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
  Descriptor epoll_;
};

}  // namespace weir::net
