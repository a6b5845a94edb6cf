// What is made of files and goes in force as one pointer: read, compiled, and read again. Files that cannot
// be used change nothing, which is said again each minute.
//
// Any thread. reload() and check() read files, and a list of a million entries takes a second: no event loop
// calls them. Not for: noticing that a file has changed (server/limits_watch.hpp).
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
#include "limits/file.hpp"
#include "service/metrics.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class FilesInForce {
 public:
  // What is to be logged of a reload.
  using Log = std::function<void(bool warns, const std::string& line)>;

  FilesInForce(const FilesInForce&) = delete;
  FilesInForce& operator=(const FilesInForce&) = delete;

  // What an operator may ask for, and how it is told: what is wrong with the files, in lines.
  enum class Reading : std::uint8_t { check, reload };
  using OnRead = std::function<void(const std::vector<std::string>& errors)>;

  // Called when files that were read again came in force, and when they could not be used; set before any
  // thread reads them. Something was in force before.
  std::function<void(const std::shared_ptr<const void>& before, const std::shared_ptr<const void>& now)>
      on_change = [](const auto&, const auto&) {};
  std::function<void(const std::vector<std::string>& errors)> on_refused = [](const auto&) {};

  // Reads the files; what is wrong with them, in lines, and then what was in force before stays.
  std::vector<std::string> reload();
  // What is wrong with the files on disk, in lines.
  std::vector<std::string> check() const;
  // What is being read is given up, and is an error from then on.
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }
  // The last reading was of no use, a minute ago or longer: they are to be read again, which tells it again.
  bool is_overdue() const;

  // What there is to say of them.
  struct Account {
    std::string path;
    std::string hash;                // SHA-256 of the text in force
    std::chrono::seconds loaded_at;  // of the wall clock, as is the next
    std::chrono::nanoseconds refused_at{0};
    std::vector<std::string> refused{};  // the errors of the last reading; empty: it was of use
  };
  Account account() const;
  std::string hash() const;  // SHA-256 of the text in force, in hex

  std::uint64_t reloads() const { return reloads_.load(); }  // that were of use
  std::uint64_t reload_errors() const { return reload_errors_.load(); }
  // Changes when what is in force does.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  limits::Time now() const { return limits::Time(wall_clock_()); }

  // What tells that a file is another one, or has been written since: of each file that was opened, what it
  // was before it was read.
  using Stamps = std::map<std::string, std::string>;
  Stamps stamps() const;                    // when they were last read, whether they could be used or not
  static Stamps look(const Stamps& files);  // as they are now

 protected:
  struct Compiled {
    std::shared_ptr<const void> made;  // null: it has errors
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
    std::vector<std::string> notes;  // of what is new in it
    std::string text;                // of all that was read
    std::string counts;              // "3 limits, 2 routes"
    Stamps stamps;
  };

  // `what` is how the log calls it: "limits".
  FilesInForce(std::string what, std::string path, core::ClockFunction wall_clock, Log log)
      : what_(std::move(what)),
        path_(std::move(path)),
        wall_clock_(std::move(wall_clock)),
        log_(std::move(log)) {}
  ~FilesInForce() = default;

  // Something else is in force. On the thread that has read it; the next reading waits for it.
  virtual void came_in_force() {}
  // `before` is in force; null: nothing yet.
  virtual Compiled compile(const std::shared_ptr<const void>& before) const = 0;

  std::shared_ptr<const void> in_force() const;
  const std::string& path() const { return path_; }
  const std::atomic<bool>& given_up() const { return given_up_; }
  static std::string stamp_of(const std::string& path);
  static constexpr const char* kGivenUp = "the reading was given up";

  // Rows of INFO, and families whose names begin so: what is read, when, how often, and what was wrong.
  void add_rows(Metrics& metrics, Section section, const std::string& file) const;
  void write_families(Exposition& to, const std::string& family, const std::string& file) const;

 private:
  std::vector<std::string> reload_alone() WEIR_REQUIRES(reloading_);
  void put_in_force(Compiled compiled);
  void keep_what_was(const std::vector<std::string>& errors);

  const std::string what_;
  const std::string path_;
  const core::ClockFunction wall_clock_;
  const Log log_;
  detail::Mutex reloading_;  // one at a time
  mutable detail::Mutex mutex_;
  std::shared_ptr<const void> set_ WEIR_GUARDED_BY(mutex_);
  std::string hash_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::string> last_errors_ WEIR_GUARDED_BY(mutex_);
  Stamps stamps_ WEIR_GUARDED_BY(mutex_);
  std::chrono::seconds loaded_at_ WEIR_GUARDED_BY(mutex_){0};
  std::chrono::nanoseconds failed_at_ WEIR_GUARDED_BY(mutex_){0};
  std::atomic<bool> given_up_{false};
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint64_t> reload_errors_{0};
};

// One loop's view of it: what is in force is looked for again only when something else is.
template <class Files>
class ViewOf {
 public:
  using Made = typename Files::Made;

  explicit ViewOf(const Files* files) : files_(files) {}

  // Null: there is none. Those that the last call returned may be gone.
  const Made* refresh() {
    if (files_ == nullptr) return nullptr;
    if (const std::uint64_t version = files_->version(); version != version_) {
      made_ = files_->current();
      version_ = version;
    }
    return made_.get();
  }
  const std::shared_ptr<const Made>& made() const { return made_; }

 private:
  const Files* files_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const Made> made_;
};

}  // namespace weir::service
