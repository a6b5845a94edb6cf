// How a rate with a point in its count is written, which has to be a whole number: in minutes, hours, days or
// weeks, as people say it.
//
// A pure function, any thread. Not for: reading a rate (weir/quota.hpp).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// "0.0055/s is 19.8/h: write '11/2000s burst 1'" of "0.0055", "s" and what that is; empty where the count is
// not such a number. The burst is what the count would have been, rounded up; with `has_burst` it is left
// out.
std::string in_whole_numbers(std::string_view count, std::string_view period_text,
                             std::chrono::nanoseconds period, bool has_burst);

}  // namespace weir::core
