#include "logs/zone.hpp"

#include <gtest/gtest.h>

#include "logs/log_time.hpp"

namespace weir::inline v0_1::logs {
namespace {

std::int64_t read(TimeReader& reader, const char* text) {
  std::int64_t ns = -1;
  EXPECT_EQ(reader.read(text, ns), nullptr) << text;
  return ns / kSecond;
}

TEST(Zone, of_a_place_has_winter_and_summer) {
  TimeReader reader(Zone::of("Europe/Berlin").value());
  for (int round = 0; round < 2; ++round) {  // the second time from what was remembered
    EXPECT_EQ(read(reader, "2026-11-21T06:49:47"), 1795240187);
    EXPECT_EQ(read(reader, "2026-07-01T02:00:00"), 1782864000);
    EXPECT_EQ(read(reader, "2026-11-21T05:49:47Z"), 1795240187);
  }
  TimeReader other(Zone::of("America/New_York").value());
  EXPECT_EQ(read(other, "21/Nov/2026:00:49:47"), 1795240187);
}

// On 2026-10-25 in Berlin, 03:00 CEST was 02:00 CET.
TEST(Zone, an_hour_that_comes_twice_goes_forwards) {
  TimeReader reader(Zone::of("Europe/Berlin").value());
  EXPECT_EQ(read(reader, "2026-10-25T01:59:59"), 1792886399);
  EXPECT_EQ(read(reader, "2026-10-25T02:00:00"), 1792886400);
  EXPECT_EQ(read(reader, "2026-10-25T02:59:59"), 1792889999);
  EXPECT_EQ(read(reader, "2026-10-25T02:59:58"), 1792889998);  // a little out of order
  EXPECT_EQ(read(reader, "2026-10-25T02:00:01"), 1792890001);
  EXPECT_EQ(read(reader, "2026-10-25T02:40:00"), 1792892400);
  EXPECT_EQ(read(reader, "2026-10-25T02:59:59"), 1792893599);
  EXPECT_EQ(read(reader, "2026-10-25T03:00:00"), 1792893600);
}

// On 2026-03-29 in Berlin, 02:00 CET was 03:00 CEST.
TEST(Zone, an_hour_that_is_left_out_is_in_the_offset_before_it) {
  TimeReader reader(Zone::of("Europe/Berlin").value());
  EXPECT_EQ(read(reader, "2026-03-29T01:59:59"), 1774745999);
  EXPECT_EQ(read(reader, "2026-03-29T02:30:00"), 1774747800);
  EXPECT_EQ(read(reader, "2026-03-29T03:00:00"), 1774746000);
}

TEST(Zone, anything_else_is_not_a_zone) {
  for (const char* text : {"", "Berlin", "Europe/Berlinn", "+25:00", "../../etc/passwd", "europe/berlin"})
    EXPECT_FALSE(Zone::of(text)) << text;
  EXPECT_FALSE(Zone::of("-05:30")->is_place());
  EXPECT_TRUE(Zone::of("Asia/Tokyo")->is_place());
}

}  // namespace
}  // namespace weir::logs
