// Patterns in which `*` is any run of characters, none too.
//
// A pure function, any thread.
#pragma once

#include <string_view>

namespace weir::inline v0_1::core {

bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace weir::core
