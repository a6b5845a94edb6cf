// The limits file that a server goes by: read, compiled, and read again. The set in force is swapped as one
// pointer, so that each request is decided by one set whole; an invalid file changes nothing.
//
// Any thread. reload() and check() read files, and a list of a million entries takes a second: no event loop
// calls them. Not for: noticing that a file has changed (server/limits_watch.hpp), deciding (limits/set.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock_function.hpp"
#include "limits/read.hpp"
#include "limits/set.hpp"
#include "service/metrics.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class LimitsInForce {
 public:
  struct Options {
    std::string path;
    limits::SetOptions setting{};
    bool shared = false;  // there is a store that may fail
    core::ClockFunction wall_clock;
    limits::OpenFile open = limits::read_from_disk;
    // What is to be logged of a reload.
    std::function<void(bool warns, const std::string& line)> log = [](bool, const std::string&) {};
  };

  // Nothing is in force before the first reload.
  explicit LimitsInForce(Options options) : options_(std::move(options)) {}
  LimitsInForce(const LimitsInForce&) = delete;
  LimitsInForce& operator=(const LimitsInForce&) = delete;

  // What an operator may ask for, and how it is told: what is wrong with the file, in lines.
  enum class Reading : std::uint8_t { check, reload };
  using OnRead = std::function<void(const std::vector<std::string>& errors)>;

  // Reads the file and its lists; what is wrong with it, in lines, and then what was in force before stays.
  std::vector<std::string> reload();
  // What is wrong with the file on disk, in lines.
  std::vector<std::string> check() const;
  // What is being read is given up, and is an error from then on.
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }

  std::shared_ptr<const limits::Set> current() const;
  // Changes when current() does.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  limits::Time now() const { return limits::Time(options_.wall_clock()); }

  // What tells that a file is another one, or has been written since: of each file that was opened, what it
  // was before it was read.
  using Stamps = std::map<std::string, std::string>;
  Stamps stamps() const;                    // when they were last read, whether they could be used or not
  static Stamps look(const Stamps& files);  // as they are now

  void add_rows(Metrics& metrics) const;

 private:
  struct Compiled {
    std::shared_ptr<const limits::Set> set;  // null: it has errors
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
    Stamps stamps;
  };
  Compiled compile() const;
  std::vector<std::string> reload_alone() WEIR_REQUIRES(reloading_);
  void write_families(Exposition& to) const;

  const Options options_;
  detail::Mutex reloading_;  // one at a time
  mutable detail::Mutex mutex_;
  std::shared_ptr<const limits::Set> set_ WEIR_GUARDED_BY(mutex_);
  std::string hash_ WEIR_GUARDED_BY(mutex_);
  std::string last_error_ WEIR_GUARDED_BY(mutex_);
  Stamps stamps_ WEIR_GUARDED_BY(mutex_);
  std::chrono::seconds loaded_at_ WEIR_GUARDED_BY(mutex_){0};
  std::atomic<bool> given_up_{false};
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint64_t> reload_errors_{0};
};

// One loop's view of it: the set is looked for again only when another is in force.
class LimitsView {
 public:
  explicit LimitsView(const LimitsInForce* limits) : limits_(limits) {}

  // Null: there is no limits file. Those that the last call returned may be gone.
  const limits::Set* refresh() {
    if (limits_ == nullptr) return nullptr;
    if (const std::uint64_t version = limits_->version(); version != version_) {
      set_ = limits_->current();
      version_ = version;
    }
    return set_.get();
  }
  const std::shared_ptr<const limits::Set>& set() const { return set_; }
  const LimitsInForce* limits() const { return limits_; }

 private:
  const LimitsInForce* limits_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const limits::Set> set_;
};

}  // namespace weir::service
