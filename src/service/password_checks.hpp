// Comparing passwords with their hashes, which takes a tenth of a second and 16 MiB each: two at a time, on
// threads of their own, with less of the processor's time than the event loops. What more is asked waits, as
// much as there is room for, the addresses in turn, so that a flood of one does not hold up another's; and
// those that ask the same share one comparison. What has waited too long is not compared, and told so.
//
// Any thread. Not for: what is to be compared with what (logins.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/clock_function.hpp"
#include "core/sha256.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class PasswordChecks {
 public:
  static constexpr std::size_t kAtOnce = 2;
  // Comparisons that wait, and those that ask for them: all, and of one address.
  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr std::size_t kMostWaitingOfOne = 256;
  static constexpr std::size_t kMostAsking = 65'536;
  static constexpr std::size_t kMostAskingOfOne = 16'384;
  // How long one waits, or little longer: about as long as clients do.
  static constexpr std::chrono::seconds kPatience{5};

  enum class Answer : std::uint8_t { wrong, right, late };
  using Work = std::function<bool()>;
  using OnDone = std::function<void(Answer)>;

  explicit PasswordChecks(core::ClockFunction clock);
  // Waits for what is being compared; those that wait are told nothing.
  ~PasswordChecks();
  PasswordChecks(const PasswordChecks&) = delete;
  PasswordChecks& operator=(const PasswordChecks&) = delete;

  // Two with the same `what` ask the same. `done` is called once, by a thread of this. False, and it is not:
  // too many wait.
  bool ask(const core::Sha256& what, const std::string& from, Work work, OnDone done);

 private:
  struct Claimant {
    std::string from;
    OnDone done;
  };
  struct Comparison {
    Work work{};  // empty while it runs
    std::chrono::nanoseconds since{0};
    std::vector<Claimant> askers{};
  };
  struct From {
    std::deque<core::Sha256> waiting;
    std::size_t asking = 0;
  };

  void end();
  void loop();
  void run_next() WEIR_REQUIRES(mutex_);
  std::vector<Claimant> end(const core::Sha256& what) WEIR_REQUIRES(mutex_);

  const core::ClockFunction clock_;
  detail::Mutex mutex_;
  detail::Signal changed_;
  std::map<core::Sha256, Comparison> checks_ WEIR_GUARDED_BY(mutex_);
  std::map<std::string, From> from_ WEIR_GUARDED_BY(mutex_);
  std::deque<std::string> turns_ WEIR_GUARDED_BY(mutex_);  // addresses of which some wait, the next first
  std::size_t waiting_ WEIR_GUARDED_BY(mutex_) = 0;
  std::size_t asking_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir::service
