#include "service/key_rules.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::service {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

struct SeenRules {
  SeenRules() {
    rules.tell = [this](const std::string& which, std::uint64_t times) {
      lines.push_back(which + " " + std::to_string(times));
    };
  }
  void see(std::uint64_t key, const char* rule, bool may_replace = true) {
    rules.see(key, core::Rule::parse(rule).value(), now, may_replace);
  }

  KeyRules rules;
  nanoseconds now = seconds{100};
  std::vector<std::string> lines;
};

constexpr std::uint64_t kKey = 0x1234567800000007;

TEST(KeyRules, two_rules_in_turn_are_counted_and_told_once_a_minute) {
  SeenRules seen;
  for (int i = 0; i < 5; ++i) {
    seen.see(kKey, "10/min");
    seen.see(kKey, "100/min burst 10");
  }
  EXPECT_EQ(seen.rules.changes(), 9U);
  EXPECT_EQ(seen.lines, std::vector<std::string>{"100/min burst 10 and 10/min 2"});
  seen.now += seconds{59};
  seen.see(kKey, "10/min");
  EXPECT_EQ(seen.lines.size(), 1U);
  seen.now += seconds{1};
  seen.see(kKey, "100/min burst 10");
  ASSERT_EQ(seen.lines.size(), 2U);
  EXPECT_EQ(seen.lines[1], "10/min and 100/min burst 10 9");
}

TEST(KeyRules, one_rule_is_one_however_it_is_written_and_a_change_for_good_is_not_told) {
  SeenRules seen;
  seen.see(kKey, "10/min");
  seen.see(kKey, "10/60s burst 10");
  EXPECT_EQ(seen.rules.changes(), 0U);
  for (int i = 0; i < 3; ++i) seen.see(kKey, "20/min");
  EXPECT_EQ(seen.rules.changes(), 1U);
  EXPECT_TRUE(seen.lines.empty());
}

TEST(KeyRules, keys_of_one_place_are_not_taken_for_each_other) {
  SeenRules seen;
  const std::uint64_t other = kKey + (std::uint64_t{1} << 40U);
  for (int i = 0; i < 4; ++i) {
    seen.see(kKey, "10/min");
    seen.see(other, "100/min");
  }
  EXPECT_EQ(seen.rules.changes(), 0U);
  seen.see(kKey, "10/min");
  seen.see(other, "100/min", false);
  seen.see(kKey, "20/min", false);
  EXPECT_EQ(seen.rules.changes(), 1U) << "the other had no right to its place";
}

}  // namespace
}  // namespace weir::service
