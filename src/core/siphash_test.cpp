#include "core/siphash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::inline v0_1::core {
namespace {

constexpr HashKey kPaperKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(SipHash, the_example_of_the_paper) {
  std::string input;
  for (char c = 0; c < 15; ++c) input += c;
  EXPECT_EQ((siphash<2, 4>(kPaperKey, input)), 0xa129ca6149be45e5U);
}

TEST(SipHash, the_empty_input) { EXPECT_EQ((siphash<2, 4>(kPaperKey, "")), 0x726fdb47dd0e0e31U); }

TEST(SipHash, every_bit_of_key_and_input_counts) {
  const std::string input = "a key of twenty-four byte";
  const std::uint64_t plain = siphash<1, 3>(kPaperKey, input);
  for (std::size_t bit = 0; bit < input.size() * 8; ++bit) {
    std::string other = input;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE((siphash<1, 3>(kPaperKey, other)), plain) << bit;
  }
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE((siphash<1, 3>({kPaperKey.k0 ^ std::uint64_t{1} << bit, kPaperKey.k1}, input)), plain);
    EXPECT_NE((siphash<1, 3>({kPaperKey.k0, kPaperKey.k1 ^ std::uint64_t{1} << bit}, input)), plain);
  }
}

TEST(SipHash, a_salt_is_one_more_word_and_its_own_namespace) {
  std::vector<std::uint64_t> seen;
  for (const std::string_view text : {"", "a", "seven77", "eight888", "nine99999"}) {
    EXPECT_EQ((siphash<1, 3>(kPaperKey, text, 0)), (siphash<1, 3>(kPaperKey, text)));
    for (const std::uint64_t salt : {0U, 1U, 2U, 256U}) seen.push_back(siphash<1, 3>(kPaperKey, text, salt));
    // The salt's own bytes before the text, without a salt.
    seen.push_back(siphash<1, 3>(kPaperKey, std::string("\1\0\0\0\0\0\0\0", 8) + std::string(text)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(SipHash, a_nul_and_a_longer_key_differ) {
  EXPECT_NE((siphash<1, 3>(kPaperKey, std::string_view("a\0", 2))), (siphash<1, 3>(kPaperKey, "a")));
}

}  // namespace
}  // namespace weir::core
