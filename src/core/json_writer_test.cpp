#include "core/json_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace weir::inline v0_1::core {
namespace {

using Spelling = JsonWriter::Spelling;

template <class Value>
std::string written(const Value& value, Spelling spelling = Spelling::shown) {
  std::string text;
  JsonWriter(text, spelling).value(value);
  return text;
}

TEST(JsonWriter, commas_stand_where_they_have_to) {
  std::string text = "{}\n";  // a line that stands before it
  JsonWriter json(text);
  json.begin_object();
  json.member("a{", "{[:");
  json.begin_object("b");
  json.end_object();
  json.begin_array("c");
  json.begin_object();
  json.member("d", nullptr);
  json.end_object();
  json.begin_array();
  json.value(1);
  json.value(true);
  json.end_array();
  json.value("");
  json.end_array();
  json.array("e", std::array{std::string("x"), std::string("y")});
  json.unknown_name("\"f");
  json.value(std::optional<int>());
  json.end_object();
  EXPECT_EQ(text,
            "{}\n{\"a{\":\"{[:\",\"b\":{},\"c\":[{\"d\":null},[1,true],\"\"],\"e\":[\"x\",\"y\"],"
            "\"\\u0022f\":null}");
}

TEST(JsonWriter, numbers_are_exact) {
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  struct Row {
    double number;
    std::string_view text;
  };
  for (const Row& row :
       {Row{0, "0.0"}, Row{1, "1.0"}, Row{0.1, "0.1"}, Row{1.0 / 3, "0.3333333333333333"}, Row{-2.5, "-2.5"},
        Row{1e-4, "0.0001"}, Row{0.00012345678901234567, "0.00012345678901234567"}, Row{1e-5, "1e-05"},
        Row{123456789012345.6, "123456789012345.6"}, Row{999999999999999, "999999999999999.0"},
        Row{1e15, "1e+15"}, Row{1.5e300, "1.5e+300"}, Row{std::numeric_limits<double>::infinity(), "null"}}) {
    EXPECT_EQ(written(row.number), row.text);
  }
}

TEST(JsonWriter, seconds_are_exact) {
  struct Row {
    std::int64_t ns;
    std::string_view text;
  };
  for (const Row& row : {Row{0, "0"}, Row{1, "0.000000001"}, Row{50'000'000, "0.05"}, Row{1'000'000'000, "1"},
                         Row{1'000'000'001, "1.000000001"}, Row{3'600'123'456'789, "3600.123456789"},
                         Row{9'223'372'036'854'775'807, "9223372036.854775807"}}) {
    std::string text;
    append_seconds(text, std::chrono::nanoseconds(row.ns));
    EXPECT_EQ(text, row.text);
  }
}

TEST(JsonWriter, nothing_in_a_text_ends_it) {
  struct Row {
    std::string_view text;
    std::string_view json;
  };
  for (const Row& row :
       {Row{"", "\"\""}, Row{"192.0.2.1", "\"192.0.2.1\""}, Row{"a\"", "\"a\\u0022\""},
        Row{"a\"\\\r\n\x1b\x7f/\xc3\xa9\xff\xed\xa0\x80",
            "\"a\\u0022\\u005c\\u000d\\u000a\\u001b\\u007f/\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd\""},
        // Lossless: two keys are never shown as one.
        Row{"\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xf0\x9f\x98\x80",
            "\"\\u0085\\u2028\\u202e\\u2066\xf0\x9f\x98\x80\""}}) {
    EXPECT_EQ(written(row.text), row.json);
  }
}

TEST(JsonWriter, the_shortest_spelling_says_the_same) {
  struct Row {
    std::string_view text;
    std::string_view json;
  };
  for (const Row& row :
       {Row{"", "\"\""}, Row{"a\"\\\b\f\n\r\t\x1b\x7f/", "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u001b\x7f/\""},
        Row{"\xc2\x85\xe2\x80\xa8\xf0\x9f\x98\x80", "\"\xc2\x85\xe2\x80\xa8\xf0\x9f\x98\x80\""},
        // A character that ends too early is one, a byte that begins none is one, a surrogate is three.
        Row{"\xe2\x82 \xf0\x9f\x98 \xf0 \xff\x80 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80 \xf0\x80",
            "\"\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd "
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd "
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\""}}) {
    EXPECT_EQ(written(row.text, Spelling::shortest), row.json);
  }
}

}  // namespace
}  // namespace weir::core
