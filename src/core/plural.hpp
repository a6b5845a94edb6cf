// Numbers of things, as a sentence says them.
#pragma once

#include <cstdint>
#include <string>

namespace weir::inline v0_1::core {

// "1 limit", "2 limits".
inline std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace weir::core
