// What the wrappers of this folder use: short names, and a quota of two numbers.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/gcra.hpp"
#include "weir/quota.hpp"

using i64 = std::int64_t;
using u64 = std::uint64_t;
using std::chrono::nanoseconds;
namespace gcra = weir::core::gcra;

// A quota that was made has these two numbers; which rate they come from matters to nobody who has it.
inline weir::Quota quota_of(i64 interval, i64 burst) {
  return {{1, nanoseconds{1}}, burst, nanoseconds{interval}};
}
