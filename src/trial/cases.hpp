// What a file of tests for limits says: requests at moments, and what is expected of them.
//
// Plain values, any thread; reading is pure but for the files. Names of limits are indices into the limits
// file that the tests are of, which the reader reads too. docs/limits.md has the form. Not for: running them
// (trial/case_run.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limits/file.hpp"
#include "limits/finding.hpp"
#include "limits/read.hpp"
#include "service/ask.hpp"
#include "service/verbs.hpp"

namespace weir::inline v0_1::limits {

// Who asks, as a file says it.
struct CaseRequest {
  std::vector<std::pair<std::string, std::string>> as;  // attributes and their values
  std::uint64_t cost = 1;
  bool says_cost = false;
  std::uint64_t at_least = 0;  // as much of the cost as there is, down to that; 0: unsaid
  std::vector<std::pair<std::string, std::uint64_t>> costs;  // by limit
  std::string class_of;                                      // empty: unsaid
};

// What is unsaid is not compared.
struct Expected {
  std::optional<std::uint64_t> allowed;
  std::optional<std::uint64_t> denied;
  std::optional<std::uint64_t> busy;     // of the denied, those that found no slot
  std::optional<std::uint64_t> granted;  // units, to all requests of the step
  // Of the step's last answer that was denied, or of its last.
  std::optional<std::string> by;
  std::optional<std::chrono::nanoseconds> retry_after;  // kNoRetry: that waiting does not help
  std::optional<std::int64_t> remaining;
  std::optional<std::chrono::nanoseconds> wait;  // of the last that was granted
  // Of a step whose answer is one number.
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::nanoseconds> time;
  std::optional<std::string> error;                        // a part of what is wrong with the request
  std::vector<std::pair<Index, std::uint64_t>> in_flight;  // by limit: open holds after the step
  Position place{};

  static constexpr std::chrono::nanoseconds kNoRetry{-1};
};

struct CaseStep {
  std::chrono::nanoseconds at{0};  // since the case's `now`; never earlier than the step before
  std::uint64_t times = 1;
  const service::VerbRow* verb = &service::verb("WEIR.CHECK");
  CaseRequest asked;  // of one that settles: what it cost
  service::Ask said;  // all that is said otherwise, but for texts
  // Of one that reserves: its hold is kept by it; of the others: whose hold. Empty: what was reserved last.
  std::string hold_name;
  std::string limit;  // that alone; empty: all that the request meets
  Expected expected;
  Position place{};
};

// How a window is called that an override lifts: "unlimited/1d".
std::string unlimited_text(const Window& window);

// The rates in force of a limit, as texts that core::Rule writes, or unlimited_text(); empty: the request is
// not counted by it. Windows that are lifted need not be named.
struct ExpectedRates {
  Index limit = kNone;
  std::vector<std::string> rates;
  Position place{};
};

struct CaseExplain {
  CaseRequest asked;
  std::vector<ExpectedRates> expected;
  Position place{};
};

struct Case {
  std::string name;
  Time now{};
  std::vector<CaseStep> steps;
  std::vector<CaseExplain> explains;
  Position place{};
};

struct Cases {
  std::string name;  // of the file, as messages call it
  std::shared_ptr<const File> file;
  std::vector<Case> cases;
};

struct CasesReading {
  std::shared_ptr<const Cases> cases;  // null when there are errors
  std::vector<Finding> findings;       // of the tests, then of their limits file
};

// `options.folder` is where the limits file is looked for. Its warnings are left to lint.
CasesReading read_cases(std::string_view text, const ReadOptions& options);

// The file of tests at `path`; "-" is the standard input.
CasesReading read_cases_file(const std::string& path);

}  // namespace weir::limits
