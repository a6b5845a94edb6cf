// How states are told apart: the number of a name, and the parts of a key.
//
// Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/sha256.hpp"
#include "core/short_text.hpp"

namespace weir::inline v0_1::limits {

// store::Limit::id of a name: 56 bits, never 0. Those of two names are practically never equal.
std::uint64_t short_form(std::string_view name);

// A longer value is told by its digest.
constexpr std::size_t kLongestValue = 128;

// The most bytes that write_part() and one more mark take: a mark, three digits, a colon.
constexpr std::size_t kLongestPart = 1 + 3 + 1 + kLongestValue;
static_assert(kLongestPart > 1 + 2 * sizeof(core::Sha256));

// A text of at most kLongestValue, so that no two are alike in the keys that they make: its length, then its
// bytes.
inline char* write_part(std::string_view text, char* to) {
  const std::size_t size = text.size();
  if (size >= 100) *to++ = static_cast<char>('0' + size / 100);
  if (size >= 10) *to++ = static_cast<char>('0' + size / 10 % 10);
  *to++ = static_cast<char>('0' + size % 10);
  *to++ = ':';
  return core::copy_text(text, to);
}

// The text of the part that `key` begins with, a network's with or without its mark, which is taken off it.
std::string_view take_part(std::string_view& key);

// What stands for one that is longer: it does not begin with a digit.
void digest_of(std::string_view text, std::string& into);
constexpr std::size_t kDigestSize = 1 + 2 * sizeof(core::Sha256);

}  // namespace weir::limits
