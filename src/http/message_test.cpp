#include "http/message.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir::inline v0_1::http {
namespace {

TEST(HttpMessage, fields_are_found_in_any_letter_case_and_in_their_order) {
  const std::array fields{Field{"Host", "a"}, Field{"X-Forwarded-For", "1.1.1.1"},
                          Field{"x-forwarded-for", "2.2.2.2"}};
  const Message message{.method = "GET", .target = "/", .path = "/", .query = "", .fields = fields};

  const Field* const first = message.find("X-FORWARDED-FOR");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->value, "1.1.1.1");
  const Field* const second = message.find("X-FORWARDED-FOR", first);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->value, "2.2.2.2");
  EXPECT_EQ(message.find("X-FORWARDED-FOR", second), nullptr);
  EXPECT_EQ(message.count("x-Forwarded-For"), 2U);
  EXPECT_EQ(message.value("host"), "a");
  EXPECT_EQ(message.value("hos"), "");
  EXPECT_EQ(message.find("Origin"), nullptr);
}

TEST(HttpMessage, a_target_is_split_at_its_first_question_mark_and_loses_only_a_scheme_and_its_host) {
  struct Row {
    std::string_view target, path, query;
  };
  for (const Row& row :
       {Row{"/v1/check", "/v1/check", ""}, Row{"/a?b=c?d", "/a", "b=c?d"}, Row{"/a?", "/a", ""},
        Row{"http://host:80/a?b", "/a", "b"}, Row{"HTTPS://host", "/", ""}, Row{"http://host?b", "", "b"},
        Row{"*", "*", ""}, Row{"//host/a", "//host/a", ""}}) {
    Message message{.method = "GET", .target = row.target, .path = "", .query = ""};
    split_target(message);
    EXPECT_EQ(message.path, row.path) << row.target;
    EXPECT_EQ(message.query, row.query) << row.target;
  }
}

}  // namespace
}  // namespace weir::http
