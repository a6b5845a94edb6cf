// What one loop has decided, by limit, verdict and class: for metrics.
//
// The loop's thread counts, any reads. Counting takes some stores to its own memory and allocates only when
// another set of limits comes in force; then limits that have gone are forgotten, and all are when the file's
// classes are others. Keys and attributes never come here, so what is reported has a bound: that of the file.
// Not for: deciding.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/histogram.hpp"
#include "limits/match.hpp"
#include "limits/set.hpp"
#include "store/store.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class DecisionCounts {
 public:
  // What a limit says of a request.
  enum class Said : std::uint8_t {
    allowed,
    denied,
    never,       // the cost is above the limit
    would_deny,  // it is in shadow
    listed,      // by its deny list
  };
  static constexpr std::array<std::string_view, 5> kSaid = {"allowed", "denied", "never", "would_deny",
                                                            "listed"};
  static constexpr std::size_t kMostCauses = 16;

  // Of one limit.
  template <class Number>
  struct Row {
    std::array<std::array<Number, limits::kMostClasses>, kSaid.size()> decisions{};
    std::array<Number, kSaid.size()> cost{};
    Number banned{};                              // of what is listed, by a ban
    Number near{};                                // allowed, with less than a fifth left
    Number skipped{};                             // not met, as an attribute is missing
    std::array<Number, kMostCauses> fallbacks{};  // by cause
  };
  using Counted = Row<std::uint64_t>;
  // Those of several loops, added up.
  struct Total {
    std::map<std::string, Counted, std::less<>> limits;  // by name
    Counted inline_limits;
    std::vector<std::string> causes;
    core::Histogram::Total took;
  };

  DecisionCounts() = default;
  DecisionCounts(const DecisionCounts&) = delete;
  DecisionCounts& operator=(const DecisionCounts&) = delete;

  // A request by the limits file; `answered` is null when it met nothing that counts.
  void count(const limits::Set& set, const limits::Matched& matched, const store::Request* answered);
  // A request that brought its limits along. Out of line: its caller does more, and saves no registers.
  [[gnu::noinline]] void count(const store::Request& answered) {
    if (answered.fault != Fault::none) return;
    for (const store::Check& each : answered.checks)
      say(inline_, said_by(each), {0, each.cost.units, is_near(each.decision), cause_of(answered)});
  }
  // That many requests took that long each, from their arrival to their answers.
  void took(std::chrono::nanoseconds time, std::uint64_t requests) { took_.count(time, requests); }

  void add_to(Total& total) const;

  // It is allowed, and less than a fifth is left.
  static bool is_near(const Decision& decision) {
    // Fifths, rounded up: five times what remains may be more than a number holds.
    const std::uint64_t fifth = (static_cast<std::uint64_t>(decision.limit) + 4) / 5;
    return decision.allowed() && decision.remaining < static_cast<std::int64_t>(fifth);
  }

 private:
  using Numbers = Row<std::atomic<std::uint64_t>>;
  struct RequestTraits {
    std::size_t of_class = 0;
    std::uint64_t cost = 0;
    bool near = false;
    std::string_view cause{};  // of a fallback
  };

  // Why the fallback decided; empty: it did not.
  static std::string_view cause_of(const store::Request& answered) {
    return answered.source == Source::fallback ? std::string_view(answered.why) : std::string_view();
  }
  void adopt(const limits::Set& set);
  // Null: the limit has gone since the request was asked.
  Numbers* row_of(const limits::Set& set, limits::Index limit) {
    assert_ours();
    return set.serial() == serial_ ? rows_[limit].get() : row_of_former(set, limit);
  }
  Numbers* row_of_former(const limits::Set& set, limits::Index limit);
  // Ours alone writes, so that no read-modify-write of the bus is needed.
  static void grow(std::atomic<std::uint64_t>& number, std::uint64_t by = 1) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  static Said said_by(const store::Check& check) {
    if (check.decision.allowed()) return Said::allowed;
    if (check.shadow) return Said::would_deny;
    return check.decision.verdict == Verdict::never ? Said::never : Said::denied;
  }
  void say(Numbers& row, Said said, const RequestTraits& asked) {
    grow(row.decisions[static_cast<std::size_t>(said)][asked.of_class]);
    grow(row.cost[static_cast<std::size_t>(said)], asked.cost);
    if (asked.near) grow(row.near);
    if (!asked.cause.empty()) grow(row.fallbacks[cause_number(asked.cause)]);
  }
  std::size_t cause_number(std::string_view cause);
  std::size_t find_cause(std::string_view cause) const;
  // On the loop's thread: it alone changes what the mutex guards, and may look at that without it.
  void assert_ours() const WEIR_ASSERT_READABLE(mutex_) {}

  std::uint64_t serial_ = 0;  // of the set that the rows are for
  std::vector<std::string> classes_;
  mutable detail::Mutex mutex_;
  std::vector<std::string> names_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Numbers>> rows_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::string> causes_ WEIR_GUARDED_BY(mutex_);
  Numbers inline_;
  core::Histogram took_;
};

}  // namespace weir::service
