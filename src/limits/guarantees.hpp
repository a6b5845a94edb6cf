// Whether what is guaranteed can be kept: by sums over all keys that have a guarantee, exactly.
//
// A guaranteed request is never refused by its parent if the guarantees' bursts add up to at most the
// parent's reserve, and their rates to at most the parent's, in every window of the parent and under every
// override of it (docs/algorithm.md). Pure but for the findings.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "limits/file.hpp"
#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {

// Whether it or an override of it has a guarantee.
bool guarantees(const NamedLimit& limit);
void judge_guarantees(const File& file, Findings& findings);

// A sum of rates, each a number of units per emission interval.
class RateSum {
 public:
  void add(std::uint64_t interval_ns, std::uint64_t units) { units_[interval_ns] += units; }
  void add(const RateSum& other);
  // Whether the sum is at most one unit per `interval_ns`. Exact while the common denominator is below 2^128;
  // beyond that each different interval is rounded up by 2^-64 of the rate that it is compared with.
  bool at_most(std::uint64_t interval_ns) const;
  // The sum in units per `period_ns`, rounded up to thousandths: "1200", "33.334".
  std::string per(std::uint64_t period_ns) const;

 private:
  std::map<std::uint64_t, std::uint64_t> units_;  // by interval
};

}  // namespace weir::limits
