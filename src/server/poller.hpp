// Which connections of one thread are ready: an epoll of our own inside Asio's.
//
// Asio serves everything else, but for a connection that asks and is answered again and again its way costs
// one system call too many each time: a read that finds nothing, to learn that it must wait. Here the kernel
// is told once, when a connection comes, and answers for all that are ready in one call (bench/server.py at
// one request a packet).
//
// One thread. The watched are not owned: take them out before they go.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <system_error>

namespace weir::server {

class Poller {
 public:
  class Watched {
   public:
    // May take itself out, nobody else.
    virtual void on_ready() = 0;

   protected:
    ~Watched() = default;
  };

  explicit Poller(boost::asio::io_context& context) : epoll_(context, open()) { wait(); }

  // Tells of input from now on; false when the kernel has no room for one more.
  bool add(int descriptor, Watched& watched) { return change(EPOLL_CTL_ADD, descriptor, watched, EPOLLIN); }
  // Tells of the one and no longer of the other.
  void await_input(int descriptor, Watched& watched) { change(EPOLL_CTL_MOD, descriptor, watched, EPOLLIN); }
  void await_output(int descriptor, Watched& watched) {
    change(EPOLL_CTL_MOD, descriptor, watched, EPOLLOUT);
  }
  void remove(int descriptor) { epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr); }

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

  bool change(int operation, int descriptor, Watched& watched, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &watched;
    return epoll_ctl(epoll_.native_handle(), operation, descriptor, &event) == 0;
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

}  // namespace weir::server
