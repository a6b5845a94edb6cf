// One thing that a request says of itself: `user=42`. Views.
#pragma once

#include <string_view>

namespace weir::inline v0_1::limits {

struct Attribute {
  std::string_view name;
  std::string_view value;
};

}  // namespace weir::limits
