#include "server/line_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace weir::inline v0_1::server {

struct LineWriter::Shared {
  Shared(int to, Dropped says, std::size_t most)
      : descriptor(to), dropped_line(std::move(says)), most_bytes(most) {}

  const int descriptor;
  const Dropped dropped_line;
  const std::size_t most_bytes;

  std::mutex mutex;
  std::condition_variable wake;  // the thread: there is something to do
  std::condition_variable done;  // flush(): all is written
  std::string waiting;
  bool writing = false;
  bool ended = false;
  std::uint64_t dropped = 0;
  std::uint64_t untold = 0;  // of those, the ones that no line has told of
  bool mid_line = false;     // the last write ended within a line; the thread's alone

  void run();
  std::size_t write_all(std::string_view text);
  std::size_t put(std::string_view text) const;
};

namespace {

std::uint64_t lines(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

LineWriter::LineWriter(int descriptor, Dropped dropped, std::size_t most_bytes)
    : shared_(std::make_shared<Shared>(descriptor, std::move(dropped), most_bytes)) {
  // Detached, because it may stand in a write() that never returns.
  std::thread([shared = shared_] { shared->run(); }).detach();
}

LineWriter::~LineWriter() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ended = true;
  shared_->wake.notify_one();
}

void LineWriter::write(std::string_view line) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() + line.size() > shared_->most_bytes) {
    ++shared_->dropped;
    ++shared_->untold;
    return;
  }
  shared_->waiting += line;
  shared_->wake.notify_one();
}

bool LineWriter::flush(std::chrono::milliseconds longest) {
  std::unique_lock lock(shared_->mutex);
  return shared_->done.wait_for(lock, longest, [&] { return shared_->waiting.empty() && !shared_->writing; });
}

std::uint64_t LineWriter::dropped() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}

void LineWriter::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return !waiting.empty() || ended; });
    if (waiting.empty()) return;
    std::string text = std::exchange(waiting, {});
    const std::uint64_t told = std::exchange(untold, 0);
    writing = true;
    lock.unlock();
    // First what was written before any was dropped.
    if (told > 0) text += dropped_line(told);
    const std::size_t written = write_all(text);
    lock.lock();
    const std::uint64_t lost = lines(std::string_view(text).substr(written));
    if (lost > 0) {
      const std::uint64_t of_others =
          told > 0 ? lost - 1 : lost;  // the last only told of those dropped before
      dropped += of_others;
      untold += of_others + told;
    }
    writing = false;
    if (waiting.empty()) done.notify_all();
  }
}

// How many bytes were written before an error.
std::size_t LineWriter::Shared::write_all(std::string_view text) {
  if (mid_line && put("\n") == 0) return 0;
  const std::size_t written = put(text);
  mid_line = written > 0 && text[written - 1] != '\n';
  return written;
}

std::size_t LineWriter::Shared::put(std::string_view text) const {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + written, text.size() - written);
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return written;
}

}  // namespace weir::server
