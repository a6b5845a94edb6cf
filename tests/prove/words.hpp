// What all wrappers of this folder use.
#pragma once

#include <chrono>
#include <cstdint>

using i64 = std::int64_t;
using u64 = std::uint64_t;
using std::chrono::nanoseconds;
namespace gcra = weir::core::gcra;
