#include "service/slow_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::service {
namespace {

TEST(SlowLog, keeps_the_latest_and_numbers_all) {
  SlowLog log;
  for (int i = 0; i < 130; ++i) log.add({.words = {std::to_string(i)}});
  EXPECT_EQ(log.size(), SlowLog::kMost);
  const std::vector<SlowLog::Entry> three = log.latest(3);
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[0].id, 129U);
  EXPECT_EQ(three[2].words[0], "127");
  EXPECT_EQ(log.latest(1000).back().id, 2U);
  log.clear();
  EXPECT_TRUE(log.latest(1000).empty());
  log.add({});
  EXPECT_EQ(log.latest(1)[0].id, 130U);
}

TEST(SlowLog, cuts_long_commands_and_words_and_shows_what_is_not_printable) {
  const std::string longest(200, 'x');
  EXPECT_EQ(cut(std::vector<std::string_view>{"DEL", "a\x1b", longest}),
            (std::vector<std::string>{"DEL", "a\\x1b", std::string(128, 'x') + "... (72 more bytes)"}));
  const std::vector<std::string_view> many(100'000, "k");
  const std::vector<std::string> shown = cut(many);
  EXPECT_EQ(shown.size(), 32U);
  EXPECT_EQ(shown.back(), "... (99969 more arguments)");
  EXPECT_EQ(cut(std::vector<std::string_view>(32, "k")).back(), "k");
}

}  // namespace
}  // namespace weir::service
