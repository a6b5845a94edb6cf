// A clock that is handed in: what time it is, on a clock that starts at 0 or above and never goes back.
//
// Code that makes decisions is given one, so that a test can give it a clock of its own. The thread that
// decides calls it; a clock that several threads share must allow that.
#pragma once

#include <chrono>
#include <functional>

namespace weir::core {

using Clock = std::function<std::chrono::nanoseconds()>;

}  // namespace weir::core
