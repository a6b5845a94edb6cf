// The clients' ends of the connections to one server: pairs of sockets of this process, so that the server
// has real ones.
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace weir::inline v0_1::simulation {

class FarEnds {
 public:
  FarEnds() {
    if (ready_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  FarEnds(const FarEnds&) = delete;
  FarEnds& operator=(const FarEnds&) = delete;
  ~FarEnds() {
    for (const auto& [id, end] : ends_) ::close(end.descriptor);
    ::close(ready_);
  }

  // A new connection; returns the server's end of it.
  int connect(std::uint64_t id) {
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
    // Less than any system allows by itself, so that it is the same on all.
    const int room = 64 << 10;
    for (const int each : pair) setsockopt(each, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    ends_[id].descriptor = pair[0];
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    epoll_ctl(ready_, EPOLL_CTL_ADD, pair[0], &event);
    return pair[1];
  }
  bool has(std::uint64_t id) const { return ends_.contains(id); }

  void send(std::uint64_t id, std::string_view bytes) {
    ends_.at(id).leaving += bytes;
    full_.insert(id);
    push();
  }
  // What had no room.
  bool push() {
    bool moved = false;
    for (auto id = full_.begin(); id != full_.end();) {
      End& end = ends_.at(*id);
      const ssize_t n = ::send(end.descriptor, end.leaving.data(), end.leaving.size(), MSG_NOSIGNAL);
      if (n > 0) end.leaving.erase(0, static_cast<std::size_t>(n));
      moved = moved || n > 0;
      const bool gone = n < 0 && errno != EAGAIN;
      id = end.leaving.empty() || gone ? full_.erase(id) : std::next(id);
    }
    return moved;
  }
  void close(std::uint64_t id) {
    full_.erase(id);
    if (const auto found = ends_.extract(id)) ::close(found.mapped().descriptor);
  }

  // Its client reads no more: what it is still sent makes closing it a reset.
  void go_deaf(std::uint64_t id) { epoll_ctl(ready_, EPOLL_CTL_DEL, ends_.at(id).descriptor, nullptr); }

  // Tells what has come, `read(id, bytes)`, and then who was left, `left(id)`. False: nothing.
  template <class Read, class Left>
  bool pull(Read read, Left left) {
    std::array<epoll_event, 64> ready{};
    const int count = epoll_wait(ready_, ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = ready[static_cast<std::size_t>(i)].data.u64;
      std::string came;
      std::array<char, 16384> bytes;
      ssize_t n = 0;
      while ((n = ::recv(ends_.at(id).descriptor, bytes.data(), bytes.size(), 0)) > 0)
        came.append(bytes.data(), static_cast<std::size_t>(n));
      const bool ended = n == 0 || errno != EAGAIN;
      if (!came.empty()) read(id, came);
      if (!ended) continue;
      close(id);
      left(id);
    }
    return count > 0;
  }

 private:
  struct End {
    int descriptor = -1;
    std::string leaving{};  // has no room yet
  };
  const int ready_ = epoll_create1(EPOLL_CLOEXEC);
  std::map<std::uint64_t, End> ends_;
  std::set<std::uint64_t> full_;
};

}  // namespace weir::simulation
