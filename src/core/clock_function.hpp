// A clock that is handed in. It starts at 0 or above and never goes back.
//
// Code that makes decisions is given one, so that a test can give it another. The deciding thread calls it; a
// clock that several threads share must allow that.
#pragma once

#include <chrono>
#include <functional>

namespace weir::inline v0_1::core {

using ClockFunction = std::function<std::chrono::nanoseconds()>;

}  // namespace weir::core
