#include "steering/shown_key.hpp"

#include <cstdint>

#include "core/sha256.hpp"

namespace weir::inline v0_1::steering {

void shorten_key(std::string_view key, std::string& into) {
  constexpr std::size_t kShownHead = 64;
  if (key.size() <= kLongestShown) {
    into = key;
    return;
  }
  into = key.substr(0, kShownHead);
  into += "...sha256:";
  core::append_hex(core::sha256(key), into);
}

std::string hashed_key(core::HashKey secret, std::string_view limit, std::string_view key) {
  // A limit's name has no byte of 0, so no two pairs make one text.
  std::string both(limit);
  both += '\0';
  both += key;
  std::uint64_t hash = core::siphash<2, 4>(secret, both);
  std::string text = "#";
  for (int i = 0; i < 16; ++i, hash <<= 4) text += "0123456789abcdef"[hash >> 60];
  return text;
}

}  // namespace weir::steering
