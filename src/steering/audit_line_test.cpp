#include "steering/audit_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::seconds;

OperatorChange ban(std::string reason) {
  return {.by = {.user = "ann", .role = Role::operate, .address = "10.0.0.7", .protocol = "resp"},
          .verb = "BAN",
          .limit = "user",
          .when = {{"user", "42"}, {"path", "/a\"b"}},
          .after = "until 2026-12-01T00:00:00.000Z",
          .reason = std::move(reason),
          .number = 7};
}

std::vector<std::string> five_lines() {
  std::vector<std::string> lines = {begin_line(seconds{1}, "", "")};
  for (int i = 0; i < 4; ++i)
    lines.push_back(audit_line(ban("why " + std::to_string(i)), 1, seconds{i}, hash_of(lines.back())));
  return lines;
}

// The number of the first line that is wrong, from 1, and what is; 0: none is.
std::pair<std::size_t, std::string> check(const std::vector<std::string>& lines) {
  AuditChain chain;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto wrong = chain.add(lines[i], i == 0)) return {i + 1, *wrong};
  }
  return {0, ""};
}

TEST(AuditLine, says_who_changed_what) {
  EXPECT_EQ(
      audit_line(ban("scraping"), 1, seconds{0}, "abc"),
      R"({"time":"1970-01-01T00:00:00.000Z","user":"ann","role":"operate","address":"10.0.0.7",)"
      R"("protocol":"resp","verb":"BAN","limit":"user","when":{"user":"42","path":"/a\u0022b"},"before":null,)"
      R"("after":"until 2026-12-01T00:00:00.000Z","reason":"scraping","number":7,"previous":"abc"})");
  EXPECT_NE(audit_line(ban(""), 12, seconds{0}, "").find(R"("reason":null,"number":7,"count":12,)"),
            std::string::npos);
}

TEST(AuditLine, a_line_feed_in_a_reason_begins_no_line) {
  EXPECT_EQ(audit_line(ban("a\n{\"verb\":\"begin\"}"), 1, seconds{0}, "").find('\n'), std::string::npos);
  EXPECT_EQ(begin_line(seconds{0}, "", "half\n").find('\n'), std::string::npos);
}

TEST(AuditChain, holds_as_it_was_written) { EXPECT_EQ(check(five_lines()).first, 0); }

TEST(AuditChain, finds_each_letter_that_was_changed) {
  const std::vector<std::string> good = five_lines();
  for (std::size_t line = 0; line + 1 < good.size(); ++line) {
    for (std::size_t at = 0; at < good[line].size(); ++at) {
      std::vector<std::string> changed = good;
      changed[line][at] = changed[line][at] == 'x' ? 'y' : 'x';
      EXPECT_NE(check(changed).first, 0) << line << ", " << at;
    }
  }
}

TEST(AuditChain, finds_lines_that_are_cut_or_reordered) {
  const std::vector<std::string> good = five_lines();
  for (std::size_t i = 1; i + 1 < good.size(); ++i) {
    std::vector<std::string> cut = good;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(check(cut),
              std::pair(i + 1, std::string("the line before has been changed, or lines are missing")));
    std::vector<std::string> swapped = good;
    std::swap(swapped[i], swapped[i + 1]);
    EXPECT_EQ(check(swapped).first, i + 1);
  }
  EXPECT_EQ(check({good.begin() + 1, good.end()}),
            std::pair(std::size_t{1}, std::string("the file has lost its first line")));
  EXPECT_EQ(check({"hello"}), std::pair(std::size_t{1}, std::string("this is not a line of an audit")));
}

TEST(AuditChain, goes_on_in_the_next_file) {
  const std::vector<std::string> first = five_lines();
  AuditChain chain;
  for (const std::string& each : first) ASSERT_FALSE(chain.add(each, &each == first.data()));
  AuditChain other = chain;
  EXPECT_FALSE(chain.add(begin_line(seconds{9}, hash_of(first.back()), "half a li"), true));
  EXPECT_EQ(chain.lines(), 6);
  EXPECT_EQ(other.add(begin_line(seconds{9}, hash_of(first.front()), ""), true),
            "the line before has been changed, or lines are missing");
}

}  // namespace
}  // namespace weir::steering
