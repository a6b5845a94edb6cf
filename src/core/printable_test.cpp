#include "core/printable.hpp"

#include <gtest/gtest.h>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

TEST(Printable, text_stays_and_what_controls_a_terminal_does_not) {
  const struct {
    std::string_view bytes;
    std::string_view shown;
  } rows[] = {
      {"", ""},
      {"plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"\x1b[31m\r\n\x7f", "\\x1b[31m\\x0d\\x0a\\x7f"},
      {{"\0\t", 2}, "\\x00\\x09"},
      {"\xff\xC3", "\\xff\\xc3"},
      {"\xC0\xAF\xED\xA0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"},
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
      {"\xC2\x9B", "\\xc2\\x9b"},                    // a terminal may take it for ESC [
      {"a\xE2\x80\xA8z", "a\\xe2\\x80\\xa8z"},       // U+2028, a line's end to some
      {"\xE2\x80\xAEgnp", "\\xe2\\x80\\xaegnp"},     // U+202E: shown from right to left
      {"\xE2\x82", "\\xe2\\x82"},
      {"\\x1b", "\\x1b"},
  };
  for (const auto& row : rows) EXPECT_EQ(printable(row.bytes), row.shown);
}

TEST(Printable, characters_are_told_by_their_code_point) {
  const auto is = [](std::string_view bytes, std::size_t size, std::uint32_t point) {
    const Character found = character_at(bytes);
    return found.size == size && found.point == point;
  };
  EXPECT_TRUE(is("az", 1, 'a'));
  EXPECT_TRUE(is("\xc2\x85", 2, 0x85));
  EXPECT_TRUE(is("\xe2\x80\xae", 3, 0x202e));
  EXPECT_TRUE(is("\xf0\x9f\x98\x80z", 4, 0x1f600));
  for (const std::string_view wrong :
       {"\xc2", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xe2\x80z", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_TRUE(is(wrong, 0, 0)) << printable(wrong);
}

TEST(Printable, of_any_bytes_is_harmless_and_stays_as_it_is) {
  Chance chance;
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes;
    for (std::int64_t n = chance.up_to(40); n > 0; --n) bytes += static_cast<char>(chance.up_to(255));
    const std::string once = printable(bytes);
    for (const char c : once) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    ASSERT_EQ(printable(once), once);
  }
}

}  // namespace
}  // namespace weir::core
