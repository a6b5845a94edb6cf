#include "logs/regex.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "logs/layout.hpp"
#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

Layout layout_with(const std::string& pattern) {
  Layout layout;
  layout.set(std::make_shared<const Regex>(pattern));
  return layout;
}

// What is read of lines that are laid out as the first of them that fits.
std::string read_with(const std::string& pattern, const std::vector<std::string>& lines,
                      const char* key = "ip") {
  std::vector<std::string> padded;
  for (const std::string& line : lines) padded.push_back(line + std::string(64, '\0'));
  std::vector<std::string_view> views;
  for (const std::string& line : padded) views.push_back(std::string_view(line).substr(0, line.size() - 64));
  const Found found = layout_of(views, layout_with(pattern));
  std::string text = name_of(found.layout) + (found.guessed ? "?" : "") + ":";
  LineParser parser(found.layout, wanted(key), views[found.line]);
  for (const std::string& line : lines) text += " " + read(parser, line);
  return text;
}

std::string error_of(const std::string& pattern) {
  try {
    const Regex regex(pattern);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

constexpr const char* kPattern = R"((?<time>\S+) (?P<client>\S+) (?<path>\S+)(?: by (?<user>\w+))?)";

TEST(Regex, groups_are_fields) {
  EXPECT_EQ(read_with(kPattern, {"2026-11-21T05:49:47.25Z 192.0.2.1:80 /a"}),
            "regex: 192.0.2.1 at +250 ms costs 1");
  EXPECT_EQ(read_with(kPattern, {"2026-11-21T05:49:47.25Z 192.0.2.1 /a by ann"}, "path"),
            "regex: /a at +250 ms costs 1");
}

TEST(Regex, a_line_that_does_not_match_as_a_whole_is_unreadable) {
  const std::string good = "1795240187.5 192.0.2.1 /a";
  EXPECT_EQ(
      read_with(kPattern, {"Listening", good, good + " by ann, late"}),
      "regex: the line does not match the regex 192.0.2.1 at +500 ms costs 1 the regex matches a part of "
      "the line only; .* stands for any rest");
  EXPECT_EQ(read_with(kPattern, {"Listening"}), "regex?: the line does not match the regex");
}

TEST(Regex, a_group_without_a_part_in_the_match_is_not_a_field) {
  EXPECT_EQ(read_with(kPattern, {"1795240187 192.0.2.1 /a"}, "user"),
            "regex: there is no field user (--key chooses another); the fields are time, client, path");
}

TEST(Regex, a_request_has_a_method_a_path_and_a_protocol) {
  const char* const pattern = R"re((?<ip>\S+) (?<time>\d+) "(?<request>[^"]*)")re";
  const std::string line = "192.0.2.1 1795240187 \"GET /a?b HTTP/1.1\"";
  for (const auto& [key, value] : {std::pair{"method", "GET"}, {"path", "/a?b"}, {"protocol", "HTTP/1.1"}})
    EXPECT_EQ(read_with(pattern, {line}, key), std::string("regex: ") + value + " at +0 ms costs 1");
}

TEST(Regex, words_around_a_line_are_taken_off) {
  const std::string line = "1795240187.5 192.0.2.1 /a";
  EXPECT_EQ(read_with(kPattern, {"<190>Nov 21 05:49:47 web app: " + line}),
            "regex in syslog: 192.0.2.1 at +500 ms costs 1");
  EXPECT_EQ(read_with(kPattern,
                      {"2026-11-21T05:49:48Z stdout P 1795240187.5 192.",
                       "2026-11-21T05:49:48Z stdout F 0.2.1 /a", "2026-11-21T05:49:48Z stdout F " + line}),
            "regex in cri: a header 192.0.2.1 at +500 ms costs 1 192.0.2.1 at +500 ms costs 1");
}

TEST(Regex, any_byte_is_a_character) {
  EXPECT_EQ(read_with("(?<time>[0-9]+) (?<ip>[^ ]+) \xC3\xA9.", {"1795240187 192.0.2.1 \xC3\xA9\xFF"}),
            "regex: 192.0.2.1 at +0 ms costs 1");
}

TEST(Regex, only_a_group_that_begins_so_is_spelt_longer) {
  EXPECT_EQ(error_of(R"(\(?<a>[(?<a>]\Q(?<a>\E(?<b>[]\](?<a>]x)(?P<c>[[:alpha:](?<d>]))"), "");
  EXPECT_EQ(read_with(R"([(?<]\(?<x>(?<time>\d+) (?<ip>.*))", {"((<x>1795240187 192.0.2.1"}),
            "regex: 192.0.2.1 at +0 ms costs 1");
}

TEST(Regex, says_what_is_wrong_with_a_pattern) {
  EXPECT_EQ(error_of("(?<time>a"), "regex: a ')' is missing");
  EXPECT_EQ(error_of("a)b"), "regex: unexpected ): a)b");
  EXPECT_EQ(error_of("[a"), "regex: missing ]: [a");
  EXPECT_EQ(error_of("**"), "regex: no argument for repetition operator: *");
  EXPECT_EQ(error_of("(?<time>a)(?<time>b)"), "regex: group 'time' a second time");
  EXPECT_EQ(error_of("(?<ti-me>a)"), "regex: invalid named capture group: (?P<ti-me>");
  EXPECT_EQ(error_of("a(?=b)"),
            "regex: invalid perl operator: (?=; RE2 has neither look-around nor back-references");
  EXPECT_EQ(error_of(R"((a)\1)"),
            R"(regex: invalid escape sequence: \1; RE2 has neither look-around nor back-references)");
  EXPECT_EQ(error_of("a\\"), "regex: trailing \\");
}

TEST(Regex, has_a_time_under_any_name_that_logs_use) {
  EXPECT_TRUE(Regex("(?<ts>.*)").has_time());
  EXPECT_FALSE(Regex("(?<when>.*)(time)").has_time());
}

}  // namespace
}  // namespace weir::logs
