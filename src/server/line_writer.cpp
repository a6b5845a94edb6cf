#include "server/line_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

struct LineWriter::Shared {
  Shared(int to, Dropped says, std::size_t most)
      : descriptor(to), dropped_line(std::move(says)), most_bytes(most) {}

  const int descriptor;
  const Dropped dropped_line;
  const std::size_t most_bytes;

  detail::Mutex mutex;
  detail::Signal wake;  // the thread: there is something to do
  detail::Signal done;  // flush(): all is written
  std::string waiting WEIR_GUARDED_BY(mutex);
  bool writing WEIR_GUARDED_BY(mutex) = false;
  bool ended WEIR_GUARDED_BY(mutex) = false;
  std::uint64_t dropped WEIR_GUARDED_BY(mutex) = 0;
  std::uint64_t untold WEIR_GUARDED_BY(mutex) = 0;  // of those, the ones that no line has told of
  bool mid_line = false;                            // the last write ended within a line; the thread's alone

  // What is to be written, and how many dropped lines are to be told of; no text: it is over.
  struct Work {
    std::string text;
    std::uint64_t told;
  };
  Work take();
  void wrote(std::uint64_t lost, std::uint64_t told);
  void run();
  void end();
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

LineWriter::~LineWriter() { shared_->end(); }

void LineWriter::Shared::end() {
  const detail::Held lock(mutex);
  ended = true;
  wake.notify_one();
}

void LineWriter::write(std::string_view line) {
  const detail::Held lock(shared_->mutex);
  if (shared_->waiting.size() + line.size() > shared_->most_bytes) {
    ++shared_->dropped;
    ++shared_->untold;
    return;
  }
  shared_->waiting += line;
  shared_->wake.notify_one();
}

bool LineWriter::flush(std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  const detail::Held lock(shared_->mutex);
  while (!shared_->waiting.empty() || shared_->writing) {
    if (!shared_->done.wait_until(shared_->mutex, until)) break;
  }
  return shared_->waiting.empty() && !shared_->writing;
}

std::uint64_t LineWriter::dropped() const {
  const detail::Held lock(shared_->mutex);
  return shared_->dropped;
}

LineWriter::Shared::Work LineWriter::Shared::take() {
  const detail::Held lock(mutex);
  while (waiting.empty() && !ended) wake.wait(mutex);
  if (waiting.empty()) return {};
  writing = true;
  return {std::exchange(waiting, {}), std::exchange(untold, 0)};
}

void LineWriter::Shared::wrote(std::uint64_t lost, std::uint64_t told) {
  const detail::Held lock(mutex);
  if (lost > 0) {
    const std::uint64_t of_others = told > 0 ? lost - 1 : lost;  // the last only told of those dropped before
    dropped += of_others;
    untold += of_others + told;
  }
  writing = false;
  if (waiting.empty()) done.notify_all();
}

void LineWriter::Shared::run() {
  for (Work work = take(); !work.text.empty(); work = take()) {
    // First what was written before any was dropped.
    if (work.told > 0) work.text += dropped_line(work.told);
    const std::size_t written = write_all(work.text);
    wrote(lines(std::string_view(work.text).substr(written)), work.told);
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
