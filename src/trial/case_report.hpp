// What the tests of limits came to, for people and for programs: a text, JSON, and the XML of JUnit.
//
// Pure, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trial/case_run.hpp"
#include "trial/coverage.hpp"

namespace weir::inline v0_1::limits {

struct CaseReport {
  std::vector<CasesResult> files;
  std::vector<Coverage> coverage;  // of each limits file; empty: nobody asked

  std::size_t tests() const;
  std::size_t failed() const;
};

// `every`: tests that passed have a line too.
std::string text_of(const CaseReport& report, bool every);
std::string json_of(const CaseReport& report);
std::string junit_of(const CaseReport& report);

}  // namespace weir::limits
