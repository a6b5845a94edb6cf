// Reads a step of a test of limits: a request, or what becomes of one that was reserved before.
//
// One thread; of the reader of a file of tests (cases.cpp) alone. docs/limits.md has the form.
#pragma once

#include <chrono>
#include <string>

#include "limits/file_field.hpp"
#include "trial/cases.hpp"

namespace weir::inline v0_1::limits {

// Who asks: `as`, `cost` and `class` of `map`, which is that of `field`.
CaseRequest read_asked(Context& context, const FileField& field, const Map& map);
// A limit of the file; told, and kNone, when there is none of that name.
Index limit_called(Context& context, const FileField& field, const std::string& name);

// What a step follows.
struct StepsBefore {
  std::chrono::nanoseconds at;  // of the last
  Time now;                     // when the test begins
  KnownNames& holds;            // that have a name; the step's own is added
};
CaseStep read_step(Context& context, const FileField& field, const StepsBefore& before);

}  // namespace weir::limits
