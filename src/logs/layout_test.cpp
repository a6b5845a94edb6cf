#include "logs/layout.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::logs {
namespace {

// "FORMAT by line N", with a '?' where no line has a known shape.
std::string found(std::vector<std::string> lines, std::string_view asked = "auto") {
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

const std::string kCombined =
    "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET /a,b HTTP/1.1\" 200 1 \"-\" \"curl\"";

TEST(Layout, is_told_by_the_first_line_that_has_a_shape) {
  EXPECT_EQ(found({R"({"time":1})"}), "jsonl by line 1");
  EXPECT_EQ(found({"time,ip"}), "csv by line 1");
  EXPECT_EQ(found({"ip\tts"}), "tsv by line 1");
  EXPECT_EQ(found({kCombined}), "combined by line 1");
  EXPECT_EQ(found({"The server starts, please wait", "", kCombined}), "combined by line 3");
  EXPECT_EQ(found({"panic: oh no", R"({"a":[1,2]})"}), "jsonl by line 2");
}

TEST(Layout, of_no_known_shape_is_guessed) {
  EXPECT_EQ(found({"anything"}), "combined?");
  EXPECT_EQ(found({"when,who"}), "csv?");
  EXPECT_EQ(found({"when\twho"}), "tsv?");
  EXPECT_EQ(found({R"({"cut":)"}), "jsonl?");
}

TEST(Layout, that_is_asked_for_is_not_doubted) {
  EXPECT_EQ(found({"a,b", kCombined}, "csv"), "csv by line 1");
  EXPECT_EQ(found({R"({"time":1})", kCombined}, "combined"), "combined by line 2");
  EXPECT_EQ(found({R"({"time":1})"}, "combined"), "combined?");
}

}  // namespace
}  // namespace weir::logs
