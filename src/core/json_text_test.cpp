#include "core/json_text.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::core {
namespace {

TEST(JsonText, seconds_are_exact) {
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

TEST(JsonText, nothing_in_a_text_ends_it) {
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
    std::string json;
    append_json(json, row.text);
    EXPECT_EQ(json, row.json);
  }
}

}  // namespace
}  // namespace weir::core
