// Runs tests of limits: on a clock of its own, against the store of a process, by the code that a server
// decides with. Nothing sleeps.
//
// One thread. Each test begins with no debt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trial/cases.hpp"
#include "trial/coverage.hpp"

namespace weir::inline v0_1::limits {

// One thing that is not as expected, side by side.
struct Mismatch {
  std::string what;  // "allowed", "by"; of explain the limit
  std::string expected;
  std::string seen;
};

// A step, or an explain, that failed.
struct Failure {
  Position place{};
  std::string title;  // "step 2, at 1s"
  std::vector<Mismatch> mismatches;
  std::string error;        // why the request could not be decided; there are no mismatches then
  std::string explanation;  // of the answer that was compared; several lines
};

struct CaseResult {
  const Case* one = nullptr;
  std::vector<Failure> failures;

  bool passed() const { return failures.empty(); }
};

struct CasesResult {
  const Cases* cases = nullptr;
  std::vector<CaseResult> results;
};

// The tests whose name has `pattern` in it, in which `*` is any run of characters; of an empty one all.
// `coverage` is of the tests' limits file, or null.
CasesResult run(const Cases& cases, std::string_view pattern, Coverage* coverage);

}  // namespace weir::limits
