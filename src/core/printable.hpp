// Text of unknown origin, made safe for a terminal, a log or a page: what would control a terminal, and what
// is not UTF-8, becomes \xNN. The result is UTF-8 on one line.
//
// Pure, any thread. Not for: quoting; a backslash stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

std::string printable(std::string_view bytes);

// One character of UTF-8.
struct Character {
  std::size_t size = 0;  // in bytes; 0: what is there is not UTF-8
  std::uint32_t point = 0;
};

// The one at the start of `bytes`, which is not empty.
Character character_at(std::string_view bytes);
bool is_utf8(std::string_view bytes);

// How many bytes at the start of `bytes` are one character that is shown as it is; 0: what is there is not
// UTF-8 or would control a terminal. `bytes` is not empty.
std::size_t shown_as_it_is(std::string_view bytes);

}  // namespace weir::core
