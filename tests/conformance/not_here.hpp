// What a world throws that has no call for what it is asked: the property is skipped, with that reason.
#pragma once

#include <stdexcept>

namespace weir::inline v0_1::store::conformance {

struct NotHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace weir::store::conformance
