// Which of very many numbers are the n greatest, without keeping them: by reading them up to four times, with
// half a MiB of memory. The radix selection of D. Knuth, "The Art of Computer Programming", 5.2.5, from the
// most significant digit.
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::inline v0_1::store {

// The n greatest of some numbers above 0; asked about each of them once, in any order.
struct Greatest {
  std::uint64_t least = 0;  // of those taken
  std::uint64_t equal = 0;  // how many of those that equal it
  std::uint64_t all = 0;    // how many numbers there are

  bool takes(std::uint64_t number) {
    if (number != least) return number > least;
    if (equal == 0) return false;
    --equal;
    return true;
  }
};

// `each` calls what it is given with every number, and returns false when it could not.
template <class Each>
bool find_furthest(std::uint64_t n, const Each& each, Greatest& found) {
  constexpr unsigned kDigitBits = 16;
  constexpr unsigned kDigits = 64 / kDigitBits;
  std::vector<std::uint64_t> count(std::size_t{1} << kDigitBits);
  std::uint64_t left = n;
  found = {};
  for (unsigned digit = kDigits; digit-- > 0;) {
    const unsigned shift = digit * kDigitBits;
    count.assign(count.size(), 0);
    const bool whole = each([&](std::uint64_t number) {
      if (digit + 1 == kDigits) ++found.all;
      if (digit + 1 == kDigits || number >> (shift + kDigitBits) == found.least)
        ++count[(number >> shift) % count.size()];
    });
    if (!whole) return false;
    if (found.all <= n) return true;
    std::size_t value = count.size() - 1;
    while (count[value] < left) left -= count[value--];
    found.least = found.least << kDigitBits | value;
  }
  found.equal = left;
  return true;
}

}  // namespace weir::store
