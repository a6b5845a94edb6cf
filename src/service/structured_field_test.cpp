#include "service/structured_field.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::service {
namespace {

std::string text(std::string_view value) {
  std::string out;
  append_string(value, out);
  return out;
}

TEST(StructuredField, strings_are_escaped_or_displayed) {
  EXPECT_EQ(text("user"), "\"user\"");
  EXPECT_EQ(text(""), "\"\"");
  EXPECT_EQ(text("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\"");
  EXPECT_EQ(text("f\xc3\xbc\xc3\xbc"), "%\"f%c3%bc%c3%bc\"");  // RFC 9651, 3.3.8
  EXPECT_EQ(text("a\r\nSet-Cookie: x"), "%\"a%0d%0aSet-Cookie: x\"");
  EXPECT_EQ(text("100% \"\xe2\x82\xac\""), "%\"100%25 %22%e2%82%ac%22\"");
  EXPECT_EQ(text("\xff"), "%\"%ef%bf%bd\"");
  EXPECT_EQ(text(std::string_view("\0", 1)), "%\"%00\"");
}

TEST(StructuredField, what_is_plain_needs_its_quotes_alone) {
  for (const std::string_view plain : {"user", "", "a b~!"}) EXPECT_TRUE(is_plain(plain)) << plain;
  for (const std::string_view other : {"a\"b", "a\\b", "a\nb", "f\xc3\xbc", "\x7f"})
    EXPECT_FALSE(is_plain(other)) << other;
}

TEST(StructuredField, integers_have_at_most_fifteen_digits) {
  const auto number = [](std::uint64_t value) {
    std::string out;
    append_integer(value, out);
    return out;
  };
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(999'999'999'999'999), "999999999999999");
  EXPECT_EQ(number(1'000'000'000'000'000), "999999999999999");
  EXPECT_EQ(number(UINT64_MAX), "999999999999999");
}

}  // namespace
}  // namespace weir::service
