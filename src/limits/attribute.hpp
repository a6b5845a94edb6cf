// One thing that a request says of itself: `user=42`. Views. And those that a limits file goes by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::limits {

struct File;

struct Attribute {
  std::string_view name;
  std::string_view value;
};

// All that make a difference to it, each once: in the order of its limits, then of its routes.
std::vector<std::string> attributes_of(const File& file);

}  // namespace weir::limits
