#include "core/percent.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::core {
namespace {

TEST(Percent, signs_with_two_digits_are_a_byte) {
  EXPECT_EQ(percent_decoded("a%20b%2F%c3%A4+").bytes, "a b/\xc3\xa4+");
  EXPECT_TRUE(percent_decoded("a%20b").is_whole);
  EXPECT_TRUE(percent_decoded("").is_whole);
  EXPECT_EQ(percent_decoded("%41").bytes, "A");
}

TEST(Percent, one_without_them_stands_and_is_told) {
  for (const char* text : {"%", "%4", "a%4g%41", "%%41"})
    EXPECT_FALSE(percent_decoded(text).is_whole) << text;
  EXPECT_EQ(percent_decoded("a%4g%41").bytes, "a%4gA");
}

}  // namespace
}  // namespace weir::core
