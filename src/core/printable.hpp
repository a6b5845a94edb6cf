// Text of unknown origin, made safe for a terminal, a log or a page: what would control a terminal, and what
// is not UTF-8, becomes \xNN. The result is UTF-8 on one line.
//
// Pure, any thread. Not for: quoting; a backslash stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace weir::core {

std::string printable(std::string_view bytes);

}  // namespace weir::core
