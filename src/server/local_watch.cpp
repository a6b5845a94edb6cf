#include "server/local_watch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "net/listener.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr off_t kLongLog = off_t{512} << 10;

// Standard error is at the end of a file, so what is written next is its first line.
void shorten_log() {
  struct stat found{};
  if (fstat(STDERR_FILENO, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size < kLongLog) return;
  if (ftruncate(STDERR_FILENO, 0) != 0) return;  // it is full, and stays so
}

}  // namespace

LocalWatch::LocalWatch(net::Timers& timers, std::string socket, Settings::Local its,
                       const net::LoopCounters& connections, std::function<void(const std::string&)> end)
    : socket_(std::move(socket)),
      local_(its),
      connections_(connections),
      end_(std::move(end)),
      file_(net::file_at(socket_)),
      looks_(timers) {}

void LocalWatch::start() {
  using std::chrono::nanoseconds;
  const nanoseconds often =
      std::clamp<nanoseconds>(local_.idle / 8, std::chrono::milliseconds{20}, std::chrono::seconds{1});
  looks_.start(often, [this] { look(); });
}

std::string LocalWatch::why_end() {
  if (net::file_at(socket_) != file_) return "its socket's file has gone";
  const std::uint64_t came = connections_.received.load(std::memory_order_relaxed);
  const bool idle = connections_.now.load(std::memory_order_relaxed) == 0 && came == came_;
  came_ = came;
  if (!idle) idle_since_ = Clock::now();
  return Clock::now() - idle_since_ < local_.idle ? "" : "nobody has been connected for --idle";
}

void LocalWatch::look() {
  shorten_log();
  const std::string why = why_end();
  if (why.empty()) return;
  looks_.stop();
  end_(why);
}

}  // namespace weir::server
