// What somebody may have meant by a word that is unknown.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::core {

// The word of `known` that is at most two letters from `word`; empty: none is.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace weir::core
