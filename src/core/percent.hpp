// Texts of URLs: bytes written as a percent sign and two hexadecimal digits (RFC 3986, 2.1).
//
// Pure, any thread. Not for: writing them.
#pragma once

#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

struct PercentDecoded {
  std::string bytes;     // a percent sign without its two digits stands as it is
  bool is_whole = true;  // there is none
};
PercentDecoded percent_decoded(std::string_view text);

}  // namespace weir::core
