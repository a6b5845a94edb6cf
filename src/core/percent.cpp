#include "core/percent.hpp"

#include "core/digits.hpp"

namespace weir::inline v0_1::core {

PercentDecoded percent_decoded(std::string_view text) {
  PercentDecoded decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.bytes += text[i];
    } else if (i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      decoded.bytes += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      decoded.bytes += '%';
      decoded.is_whole = false;
    }
  }
  return decoded;
}

}  // namespace weir::core
