// What a request met on its way through the file, in the file's terms: the matcher fills one when it is asked
// for, and explaining reads it.
//
// Plain values, any thread. Not for: deciding; a request that is only decided has none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

struct SteeredOverride;

struct TraceStep {
  enum class What : std::uint8_t {
    counted,  // by a check: the n-th counted step is the n-th check of the request
    skipped,  // the request lacks an attribute of `by`
    exempt,   // `allow` of the limit
    denied,   // `deny` of the limit
    lifted,   // `unlimited`, by an override
    banned,   // by an operator
  };
  What what = What::counted;
  Index limit = kNone;   // File::limits
  Index window = kNone;  // NamedLimit::windows; of a counted step kNone is the guarantee's own state
  // NamedLimit::overrides, those whose rate, cost, leave, reserve and penalty these are; kNone: the limit's.
  Index override_of = kNone;
  Index cost_by = kNone;
  Index leave_by = kNone;
  Index reserve_by = kNone;
  Index penalty_by = kNone;
  // What operators have set over all of these: the first of a ban, of a shadow, of a rate. Null: nothing.
  const SteeredOverride* steered = nullptr;
};

struct Trace {
  Index route = kNone;           // File::routes; kNone: none matched
  Index class_of = kNone;        // File::classes; kNone: the file has none
  std::vector<TraceStep> steps;  // in the order of the route, an ancestor before its child; skipped,
                                 // exempt, denied and banned ones once for each limit
};

}  // namespace weir::limits
