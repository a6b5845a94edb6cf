// How a limit is written in Redis: `?format=` of the URL.
//
// Plain values, any thread. What each looks like: check.lua.
#pragma once

#include <cstdint>

namespace weir::inline v0_1::redis {

enum class ValueFormat : std::uint8_t {
  weir,        // with a mark that says so
  redis_cell,  // the tat alone, as redis-cell and throttled write it, to share limits with those; gcra only
};

}  // namespace weir::redis
