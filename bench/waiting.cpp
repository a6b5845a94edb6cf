// What bench/waiting.py measures beside others, each a program of its own so that it can take turns with
// them.
//
//   weir_bench_waiting reserve COUNT    nanoseconds for each reserve() that acts now, of one Limiter
//   weir_bench_waiting timer            a server that knows nothing but when: a client sends a moment of
//                                       CLOCK_MONOTONIC, in nanoseconds and 8 bytes, and gets 36 bytes then
//
// The second is what is left of an ACQUIRE without weir: the same sockets and calls of the kernel, epoll and
// one timerfd. Linux only.
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>

#include "client.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::bench {
namespace {

int reserve(std::uint64_t count) {
  Limiter limiter{Quota::per_second(1'000'000'000).with_burst(1'000'000'000)};
  std::uint64_t granted = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < count; ++i)
    granted += limiter.reserve({.max_wait = std::chrono::seconds{1}}).granted() ? 1 : 0;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  std::printf("%.3f %llu\n", took.count() / static_cast<double>(count),
              static_cast<unsigned long long>(granted));
  return granted == count ? 0 : 1;
}

int require(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

class Timer {
 public:
  [[noreturn]] void run() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    require(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), "bind");
    require(listen(listener_, 1024), "listen");
    require(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    watch(listener_);
    watch(timer_);
    std::printf("listening on 127.0.0.1:%d\n", int{ntohs(address.sin_port)});
    std::fflush(stdout);
    for (;;) {
      std::array<epoll_event, 64> ready;
      const int count = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < count; ++i) serve(ready[static_cast<std::size_t>(i)].data.fd);
    }
  }

 private:
  void watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    require(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  }

  void serve(int descriptor) {
    if (descriptor == listener_)
      return watch(require(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK), "accept"));
    if (descriptor == timer_) return answer();
    std::int64_t moment = 0;
    if (recv(descriptor, &moment, sizeof moment, 0) != sizeof moment) {
      close(descriptor);
      return;
    }
    const bool is_earliest = waiting_.empty() || moment < waiting_.begin()->first;
    waiting_.emplace(moment, descriptor);
    if (is_earliest) set();
  }

  void answer() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t time = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    constexpr std::array<char, 36> kReply{};
    while (!waiting_.empty() && waiting_.begin()->first <= time) {
      static_cast<void>(send(waiting_.begin()->second, kReply.data(), kReply.size(), MSG_NOSIGNAL));
      waiting_.erase(waiting_.begin());
    }
    set();
  }

  // Set to nothing it is off, and no longer readable either.
  void set() {
    itimerspec when{};
    if (!waiting_.empty()) {
      when.it_value.tv_sec = waiting_.begin()->first / 1'000'000'000;
      when.it_value.tv_nsec = waiting_.begin()->first % 1'000'000'000;
    }
    require(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
  }

  int epoll_ = require(epoll_create1(0), "epoll_create1");
  int timer_ = require(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create");
  int listener_ = require(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
  std::multimap<std::int64_t, int> waiting_;
};

int body(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "timer" && argc == 2) Timer().run();
  if (what != "reserve" || argc != 3) throw UsageError("expected 'reserve COUNT' or 'timer'");
  return reserve(parse_number<std::uint64_t>("COUNT", argv[2], 1, 1'000'000'000));
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  try {
    return weir::bench::body(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir_bench_waiting: %s\n", error.what());
    return 2;
  }
}
