// A log of one or more files as events in order of time (docs/replay.md, "Time").
//
// run() reads and parses on a thread of its own while the caller's thread decides. Each object runs once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "logs/client_index.hpp"
#include "logs/log_source.hpp"

namespace weir::inline v0_1::logs {

struct Event {
  std::int64_t ns;          // since 1970
  std::uint64_t cost;       // with Wanted::span, when it ended: ns since 1970
  std::uint32_t client;     // its number in ClientIndex
  std::uint32_t order = 0;  // Reorder's own
};

struct LogReaderOptions {
  static constexpr std::int64_t kSortAll = std::numeric_limits<std::int64_t>::max();

  std::vector<std::string> files;
  bool follow = false;  // the one file, which may grow
  Wanted wanted;
  Filter filter;                             // wanted.also are the fields of its conditions, in their order
  Layout layout;                             // what is not known is found by each file's first lines
  std::int64_t reorder_ns = 60'000'000'000;  // lines this late are sorted, later ones clamped
};

struct Progress {
  std::uint64_t consumed = 0;  // bytes as they are on disk
  std::uint64_t total = 0;     // 0: unknown
  std::uint64_t lines = 0;
};

// Sorts events by time; events of equal time stay in the order in which they came.
class Reorder {
 public:
  // `cut`: what comes too late to be sorted counts from as early as it still can, not from the greatest time
  // so far: it is a request's begin, and its end is known.
  explicit Reorder(std::int64_t window_ns, bool cut = false) : window_(window_ns), cut_(cut) {}

  // Takes one event; passes on every event that no later one can precede.
  template <class Each>
  void take(Event event, LogStats& stats, Each&& each) {
    if (event.ns < newest_) {
      // With kSortAll, newest_ - window_ would overflow.
      if (window_ == LogReaderOptions::kSortAll || event.ns >= newest_ - window_) {
        ++stats.reordered;
      } else {
        ++stats.clamped;
        event.ns = cut_ ? newest_ - window_ : newest_;
      }
    }
    if (window_ == 0) {
      newest_ = event.ns;
      each(event);
      return;
    }
    add(event);
    if (event.ns > newest_) {
      newest_ = event.ns;
      if (window_ != LogReaderOptions::kSortAll) release(newest_ - window_, each);
    }
  }

  // Takes the time of a line that is left out.
  template <class Each>
  void pass(std::int64_t ns, Each&& each) {
    if (ns <= newest_) return;
    newest_ = ns;
    if (window_ != LogReaderOptions::kSortAll) release(newest_ - window_, each);
  }

  template <class Each>
  void finish(Each&& each) {
    release(std::numeric_limits<std::int64_t>::max(), each);
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;

  // Most logs record whole seconds, so the events of one second mostly arrive in order.
  struct Second {
    std::vector<Event> events;
    bool sorted = true;
  };

  void add(const Event& event);
  static void sort(Second& second);

  template <class Each>
  void release(std::int64_t before, Each&& each) {
    // Every event of a second that ends by `before` has arrived: later ones are at `before` or after it.
    while (!seconds_.empty() && (before == std::numeric_limits<std::int64_t>::max() ||
                                 (seconds_.begin()->first + 1) * kSecond <= before)) {
      auto node = seconds_.extract(seconds_.begin());
      if (last_ == &node.mapped()) last_ = nullptr;
      sort(node.mapped());
      for (const Event& event : node.mapped().events) each(event);
      node.mapped().events.clear();
      node.mapped().sorted = true;
      if (window_ != LogReaderOptions::kSortAll) spare_.push_back(std::move(node));
    }
  }

  std::int64_t window_;
  bool cut_;
  std::int64_t newest_ = 0;  // no event is before 1970
  std::map<std::int64_t, Second> seconds_;
  Second* last_ = nullptr;
  std::int64_t last_second_ = 0;
  std::vector<std::map<std::int64_t, Second>::node_type> spare_;
};

class LogReader {
 public:
  LogReader(LogReaderOptions options, const std::atomic<bool>& stop);

  // Passes on every event, until the end or until `stop` is set; calls `progress` every few thousand lines,
  // and several times a second while a log that is followed does not grow. Throws std::runtime_error for a
  // fault of the whole run: a file that cannot be opened, a column that does not exist.
  void run(const std::function<void(std::span<const Event>)>& each,
           const std::function<void(const Progress&)>& progress);

  const ClientIndex& clients() const { return clients_; }
  // What was found so far.
  const LogStats& stats() const { return stats_; }
  bool interrupted() const { return stop_.load(std::memory_order_relaxed); }
  const LogReaderOptions& options() const { return options_; }

 private:
  struct Batch;
  class Channel;
  class Merge;

  void read(Channel& channel, LogStats& stats) const;
  bool fill(Batch& batch, Merge& merge) const;
  template <class Collect>
  void number(const Batch& batch, LogStats& decided, Reorder& reorder, const Collect& collect);

  LogReaderOptions options_;
  const std::atomic<bool>& stop_;
  ClientIndex clients_;
  LogStats stats_;
};

}  // namespace weir::logs
