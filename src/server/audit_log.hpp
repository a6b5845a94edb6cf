// The changes that operators make: lines in a file, written and synced by a thread of its own before a change
// is answered, and the latest of them in memory.
//
// The lines are a chain (steering/audit_line.hpp). More than ten RESET or DEL of one user in a second are
// told by one line with their number, once the second has ended; those wait for nothing. Where what cannot be
// written must not happen, they wait as any change does, and share the lines that are not being written yet.
//
// Any thread. Not for: events, which may be dropped (event_sinks.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/clock_function.hpp"
#include "service/metrics.hpp"
#include "steering/change.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class AuditLog {
 public:
  static constexpr std::size_t kMostKept = 1024;       // lines in memory
  static constexpr std::size_t kMostWaiting = 10'000;  // changes that are not written yet
  static constexpr std::uint64_t kAlone = 10;          // RESET and DEL of a user in a second

  struct Options {
    std::string path;       // empty: in memory alone
    bool required = false;  // what cannot be written must not happen
    bool later = false;     // the file is another process' until go_on()
    core::ClockFunction wall_clock;
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  // Throws std::runtime_error when the file cannot be opened, is not a regular file, or is written to by
  // another process.
  explicit AuditLog(Options options);
  // What waits is written first.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // `done` is called once, at once or by the thread of this: false, and the change must not happen.
  void record(steering::OperatorChange change, std::function<void(bool written)> done);
  // Opens the file again, as it may have been moved away. Returns at once.
  void reopen();

  // Leaves the file to another process, once all that waits is written: what is recorded from then on waits
  // for go_on(), which throws as the constructor does.
  void leave();
  void go_on();

  bool waits() const { return !options_.path.empty(); }     // record() answers later
  std::vector<std::string> latest(std::size_t most) const;  // the newest first
  void add_rows(service::Metrics& metrics) const;

 private:
  struct Waiting {
    steering::OperatorChange change;
    std::uint64_t count = 1;
    std::vector<std::function<void(bool)>> done{};
    bool is_flood = false;
  };
  // RESET and DEL of one user in this second.
  struct Flood {
    std::chrono::nanoseconds began{0};
    std::uint64_t times = 0;
    Waiting rest{.change = {}, .count = 0};
  };

  static void join(Waiting& others, const steering::OperatorChange& change);
  // The flood that it is part of; null: it is told alone.
  Flood* flood_of(const steering::OperatorChange& change) WEIR_REQUIRES(mutex_);
  Waiting& waiting_flood(const std::string& user) WEIR_REQUIRES(mutex_);
  void end_floods(bool all) WEIR_REQUIRES(mutex_);
  void end();
  void run();
  void write(std::deque<Waiting> batch);
  bool put(const std::string& text);
  void open_file();
  void begin_file(const std::string& torn);
  void keep(std::string line, std::string head) WEIR_REQUIRES(mutex_);

  const Options options_;
  mutable detail::Mutex mutex_;
  detail::Signal changed_;
  std::deque<Waiting> waiting_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Flood> floods_ WEIR_GUARDED_BY(mutex_);
  std::deque<std::string> kept_ WEIR_GUARDED_BY(mutex_);
  std::string head_ WEIR_GUARDED_BY(mutex_);
  bool reopens_ WEIR_GUARDED_BY(mutex_) = false;
  bool left_ WEIR_GUARDED_BY(mutex_) = false;    // to another process
  bool writes_ WEIR_GUARDED_BY(mutex_) = false;  // the thread does, just now
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  int file_ = -1;          // of the thread, once it runs, as is the next
  std::int64_t size_ = 0;  // of it, up to the end of the last whole line
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> errors_{0};
  std::thread thread_;
};

}  // namespace weir::server
