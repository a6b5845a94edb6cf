#include "server/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/number.hpp"

namespace weir::inline v0_1::server {
namespace {

std::string taken_from_environment(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

ServiceManager::ServiceManager(net::Timers& timers, std::vector<boost::asio::io_context*> loops)
    : loops_(std::move(loops)), next_(timers), socket_(taken_from_environment("NOTIFY_SOCKET")) {
  const std::string of = taken_from_environment("WATCHDOG_PID");
  const std::int64_t longest = core::parse_integer(taken_from_environment("WATCHDOG_USEC")).value_or(0);
  if (longest > 0 && (of.empty() || core::parse_integer(of) == getpid()))
    watchdog_ = std::chrono::microseconds{longest};
}

void ServiceManager::ready() {
  tell("READY=1");
  if (watchdog_.count() == 0 || socket_.empty()) return;
  ask_loops();
  // In a quarter of the time it allows, one that is late by a round, or whose datagram is lost, is heard in
  // time.
  next_.start(std::max(watchdog_ / 4, std::chrono::microseconds{1'000}), [this] { ask_loops(); });
}

void ServiceManager::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void ServiceManager::stopping() {
  next_.stop();
  tell("STOPPING=1");
}

// Once every loop has run what it was given, says so and gives them the next.
void ServiceManager::ask_loops() {
  if (unheard_.load() != 0) return;
  tell("WATCHDOG=1");
  unheard_.store(loops_.size());
  for (boost::asio::io_context* loop : loops_) {
    boost::asio::post(*loop, [this] { unheard_.fetch_sub(1); });
  }
}

void ServiceManager::tell(std::string_view what) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  if (socket_[0] != '/' && socket_[0] != '@') return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // of the abstract namespace, unix(7)
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // Whether it arrives is its reader's business: a program does not fail because nobody listens.
  (void)sendto(descriptor, what.data(), what.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), length);
  close(descriptor);
}

}  // namespace weir::server
