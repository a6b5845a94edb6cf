#include "resp/writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::resp {
namespace {

using namespace std::string_literals;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <typename Write>
std::string written(int protocol, const Write& write) {
  std::string out;
  Writer reply(out, protocol);
  write(reply);
  return out;
}

TEST(Writer, four_numbers_and_whose_they_are) {
  std::string out;
  Writer(out).four({7, -1, 0, 25'200'000}, "a key");
  EXPECT_EQ(out, "*5\r\n:7\r\n:-1\r\n:0\r\n:25200000\r\n$5\r\na key\r\n");
}

TEST(Writer, each_kind_of_value_in_both_protocols) {
  const struct {
    const char* what;
    void (*write)(Writer&);
    std::string resp2;
    std::string resp3;
  } rows[] = {
      {"integer", [](Writer& r) { r.integer(1000); }, ":1000\r\n", ":1000\r\n"},
      {"status", [](Writer& r) { r.simple("PONG"); }, "+PONG\r\n", "+PONG\r\n"},
      {"error", [](Writer& r) { r.error("ERR no"); }, "-ERR no\r\n", "-ERR no\r\n"},
      {"bulk", [](Writer& r) { r.bulk("a\r\n\0\xff"s); }, "$5\r\na\r\n\0\xff\r\n"s, "$5\r\na\r\n\0\xff\r\n"s},
      {"empty bulk", [](Writer& r) { r.bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
      {"number", [](Writer& r) { r.number(0); }, "$1\r\n0\r\n", "$1\r\n0\r\n"},
      {"most", [](Writer& r) { r.number(kMost); }, "$20\r\n18446744073709551615\r\n",
       "$20\r\n18446744073709551615\r\n"},
      {"null", [](Writer& r) { r.null(); }, "$-1\r\n", "_\r\n"},
      {"null array", [](Writer& r) { r.null_array(); }, "*-1\r\n", "_\r\n"},
      {"array of 3", [](Writer& r) { r.array(3); }, "*3\r\n", "*3\r\n"},
      {"array of 0", [](Writer& r) { r.array(0); }, "*0\r\n", "*0\r\n"},
      {"map of 3", [](Writer& r) { r.map(3); }, "*6\r\n", "%3\r\n"},
      {"text", [](Writer& r) { r.verbatim("a\r\nb"); }, "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"},
      {"no text", [](Writer& r) { r.verbatim(""); }, "$0\r\n\r\n", "=4\r\ntxt:\r\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(written(2, row.write), row.resp2) << row.what;
    EXPECT_EQ(written(3, row.write), row.resp3) << row.what;
  }
}

TEST(Writer, a_line_break_in_an_echoed_argument_cannot_forge_a_second_answer) {
  const struct {
    std::string text;
    std::string line;
  } rows[] = {
      {"ERR unknown command 'a\r\n+OK'", "ERR unknown command 'a  +OK'\r\n"},
      {"\r", " \r\n"},
      {"\n", " \r\n"},
      {"a\nb\rc", "a b c\r\n"},
      {"", "\r\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(written(2, [&](Writer& r) { r.error(row.text); }), "-" + row.line);
    EXPECT_EQ(written(2, [&](Writer& r) { r.simple(row.text); }), "+" + row.line);
  }
}

TEST(Writer, what_would_control_a_terminal_is_escaped_in_an_error) {
  EXPECT_EQ(written(2, [](Writer& r) { r.error("ERR a\0b\x1b[31m\x7f\x9b\xc3\xa9 \\"s); }),
            "-ERR a\\x00b\\x1b[31m\\x7f\\x9b\xc3\xa9 \\\r\n");
}

TEST(Writer, cleaning_a_line_leaves_the_answers_before_it_alone) {
  std::string out = ":1\r\n";
  Writer(out).error("ERR a\nb");
  EXPECT_EQ(out, ":1\r\n-ERR a b\r\n");
}

TEST(Writer, five_integers_as_redis_cell_sends_them) {
  const struct {
    std::array<std::int64_t, 5> values;
    std::string_view wire;
  } rows[] = {
      {{0, 16, 15, -1, 2}, "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"},
      {{1, 16, 0, 2, 32}, "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n"},
      {{9, 10, 99, 100, 101}, "*5\r\n:9\r\n:10\r\n:99\r\n:100\r\n:101\r\n"},
      {{-9, -10, -99, -100, 86400}, "*5\r\n:-9\r\n:-10\r\n:-99\r\n:-100\r\n:86400\r\n"},
      {{kMin, kMax, kMin, kMax, kMin},
       "*5\r\n:-9223372036854775808\r\n:9223372036854775807\r\n:-9223372036854775808\r\n:"
       "9223372036854775807\r\n"
       ":-9223372036854775808\r\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(written(2, [&](Writer& r) { r.five_integers(row.values); }), row.wire);
    EXPECT_EQ(written(3, [&](Writer& r) { r.five_integers(row.values); }), row.wire);
  }
}

TEST(Writer, seven_have_an_id_or_none) {
  const std::string numbers = "*7\r\n:0\r\n:2\r\n:-1\r\n:4\r\n:5\r\n";
  const std::string longest(64, 'i');
  for (const std::string& by : {std::string("k"), std::string(64, 'b'), std::string(1000, 'b')}) {
    const std::string end = "$" + std::to_string(by.size()) + "\r\n" + by + "\r\n";
    const auto seven = [&](std::string_view id) {
      return [id, &by](Writer& r) { r.seven({0, 2, -1, 4, 5}, id, by); };
    };
    EXPECT_EQ(written(2, seven("")), numbers + "$-1\r\n" + end);
    EXPECT_EQ(written(3, seven("")), numbers + "_\r\n" + end);
    EXPECT_EQ(written(2, seven("id")), numbers + "$2\r\nid\r\n" + end);
    EXPECT_EQ(written(2, seven(longest)), numbers + "$64\r\n" + longest + "\r\n" + end);
  }
}

TEST(Writer, six_end_with_a_name_of_any_length) {
  for (const std::size_t length : {0U, 1U, 63U, 64U, 65U, 1000U}) {
    const std::string by(length, 'x');
    const std::string numbers =
        ":-9223372036854775808\r\n:-9223372036854775808\r\n:-9223372036854775808\r\n"
        ":-9223372036854775808\r\n:-9223372036854775808\r\n";
    EXPECT_EQ(written(2, [&](Writer& r) { r.six({kMin, kMin, kMin, kMin, kMin}, by); }),
              "*6\r\n" + numbers + "$" + std::to_string(length) + "\r\n" + by + "\r\n");
  }
}

TEST(Writer, numbers_are_printed_as_the_standard_library_prints_them) {
  const auto expect_printed = [](std::int64_t value) {
    ASSERT_EQ(written(2, [=](Writer& r) { r.integer(value); }), ":" + std::to_string(value) + "\r\n");
  };
  for (std::int64_t value = -10100; value <= 10100; ++value) expect_printed(value);
  for (std::int64_t power = 1; power <= kMax / 10; power *= 10) {
    for (const std::int64_t step : {-1, 0, 1}) expect_printed(power * 10 + step);
  }
  core::Chance random;
  for (int i = 0; i < 100000; ++i) expect_printed(static_cast<std::int64_t>(random()) >> (random() % 64));
}

TEST(Writer, the_largest_header_counts) {
  EXPECT_EQ(written(2, [](Writer& r) { r.array(kMost); }), "*18446744073709551615\r\n");
}

}  // namespace
}  // namespace weir::resp
