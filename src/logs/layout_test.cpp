#include "logs/layout.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::logs {
namespace {

// "FORMAT by line N", with a '?' where no line has a known shape.
std::string told_format(std::vector<std::string> lines, std::string_view asked = "auto") {
  Layout layout;
  layout.set(asked);
  std::vector<std::string_view> views;
  for (std::string& line : lines) {
    const std::size_t size = line.size();
    line.append(64, '\0');
    views.push_back(std::string_view(line).substr(0, size));
  }
  const Found answer = layout_of(views, layout);
  return name_of(answer.layout) + (answer.guessed ? "?" : " by line " + std::to_string(answer.line + 1));
}

const std::string kCombinedLine =
    "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a,b HTTP/1.1\" 200 1 \"-\" \"curl\"";

TEST(Layout, is_told_by_the_first_line_that_has_a_shape) {
  EXPECT_EQ(told_format({R"({"time":1})"}), "jsonl by line 1");
  EXPECT_EQ(told_format({"time,ip"}), "csv by line 1");
  EXPECT_EQ(told_format({"ip\tts"}), "tsv by line 1");
  EXPECT_EQ(told_format({kCombinedLine}), "combined by line 1");
  EXPECT_EQ(told_format({"The server starts, please wait", "", kCombinedLine}), "combined by line 3");
  EXPECT_EQ(told_format({"panic: oh no", R"({"a":[1,2]})"}), "jsonl by line 2");
}

TEST(Layout, of_no_known_shape_is_guessed) {
  EXPECT_EQ(told_format({"anything"}), "combined?");
  EXPECT_EQ(told_format({"when,who"}), "csv?");
  EXPECT_EQ(told_format({"when\twho"}), "tsv?");
  EXPECT_EQ(told_format({R"({"cut":)"}), "jsonl?");
}

TEST(Layout, that_is_asked_for_is_not_doubted) {
  EXPECT_EQ(told_format({"a,b", kCombinedLine}, "csv"), "csv by line 1");
  EXPECT_EQ(told_format({R"({"time":1})", kCombinedLine}, "combined"), "combined by line 2");
  EXPECT_EQ(told_format({R"({"time":1})"}, "combined"), "combined?");
}

}  // namespace
}  // namespace weir::logs
