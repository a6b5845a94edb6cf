#include "core/whole_rate.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/duration.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core {
namespace {

std::string said(std::string_view count, std::string_view period, bool has_burst = false) {
  return in_whole_numbers(count, period, read_duration(period).value, has_burst);
}

TEST(WholeRate, a_rate_is_said_as_people_say_it) {
  struct Row {
    std::string count;
    std::string period;
    std::string told;
  };
  const std::vector<Row> rows = {
      {"0.0055", "s", "0.0055/s is 19.8/h: write '11/2000s burst 1'"},
      {"1.5", "s", "1.5/s is 90/min: write '3/2s burst 2'"},
      {"0.5", "s", "0.5/s is 30/min: write '1/2s burst 1'"},
      {".5", "s", ".5/s is 30/min: write '1/2s burst 1'"},
      {"2.0", "min", "2.0/min is 2/min: write '2/1m burst 2'"},
      {"0.1", "h", "0.1/h is 2.4/d: write '1/10h burst 1'"},
      {"2.5", "d", "2.5/d is 2.5/d: write '5/2d burst 3'"},
      {"0.25", "w", "0.25/w is 0.25/w: write '1/28d burst 1'"},
      {"0.0033333", "s", "0.0033333/s is about 11.99/h"},
      {"0.05", "30d", "0.05/30d is about 0.01/w: write '1/600d burst 1'"},
      {"1", "s", ""},
      {"1.", "s", ""},
      {"0.0", "s", ""},
      {"-1.5", "s", ""},
      {"1.-5", "s", ""},
      {"1e.5", "s", ""},
      {"1.5", "0s", ""},
      {"1.0000000000000000001", "s", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(said(row.count, row.period), row.told) << row.count;
  EXPECT_EQ(said("1.5", "s", true), "1.5/s is 90/min: write '3/2s'");
}

TEST(WholeRate, what_it_tells_to_write_is_taken) {
  for (const char* count : {"0.0055", "0.7", "3.1", "12.75"}) {
    for (const char* period : {"ms", "s", "7s", "min", "h"}) {
      const std::string told = said(count, period);
      const std::size_t at = told.find('\'');
      ASSERT_NE(at, std::string::npos) << told;
      EXPECT_TRUE(Quota::parse(told.substr(at + 1, told.size() - at - 2))) << told;
    }
  }
}

}  // namespace
}  // namespace weir::core
