// Steps of a store's clock, as its answers show them.
#include "redis/store_clock.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;

TEST(StoreClock, a_debt_is_suspect_for_as_long_as_the_clock_has_stepped_back) {
  struct Row {
    const char* what;
    std::chrono::nanoseconds theirs, asked, answered;
    bool suspect;
  };
  const std::vector<Row> rows = {
      {"the first answer", 5000s, 10s, 10s, false},
      {"as late as its way was long", 5001s, 11s, 14s, false},
      {"set back by less than a second", 5003100ms, 14s, 14s, false},
      {"an hour ahead", 5005s + 1h, 15s, 15s, false},
      {"back", 5006s, 16s, 16s, true},
      {"within that hour", 5006s + 59min, 16s + 59min, 16s + 59min, true},
      {"after it", 5006s + 61min, 16s + 61min, 16s + 61min, false},
  };
  StoreClock clock;
  for (const Row& row : rows) {
    clock.heard(row.theirs, row.asked, row.answered);
    EXPECT_EQ(clock.is_suspect(row.answered), row.suspect) << row.what;
  }
}

TEST(StoreClock, what_was_written_before_two_steps_is_suspect_for_both) {
  StoreClock clock;
  clock.heard(5000s, 10s, 10s);
  clock.heard(4901s, 11s, 11s);
  clock.heard(4852s, 12s, 12s);
  EXPECT_EQ(clock.suspect_for(12s), 149s);  // 150 s, less what has passed since the first
  EXPECT_EQ(clock.suspect_for(161s), 0s);
}

TEST(StoreClock, a_small_step_long_after_a_large_one_adds_no_more_than_itself) {
  StoreClock clock;
  clock.heard(5000s, 0s, 0s);
  clock.heard(4000s, 0s, 0s);
  EXPECT_EQ(clock.suspect_for(0s), 1000s);
  clock.heard(4898s, 900s, 900s);
  EXPECT_EQ(clock.suspect_for(900s), 102s);
}

}  // namespace
}  // namespace weir::redis
