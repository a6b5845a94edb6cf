#include "core/time_zone_file.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/chance_test.hpp"
#include "core/regular_file.hpp"
#include "core/system_time_zones.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::string number(std::int64_t value, int size) {
  std::string bytes;
  for (int shift = size * 8; (shift -= 8) >= 0;)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> static_cast<unsigned>(shift));
  return bytes;
}

// How a file is made, so that a test can make a bad one.
struct Made {
  char version = '2';
  std::vector<std::int64_t> easts = {3600, 7200};
  std::vector<std::pair<std::int64_t, int>> shifts = {{1000, 1}, {2000, 0}};
  int leaps = 0;
  const char* footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n";

  std::string block(int time_size) const {
    std::string bytes = "TZif" + std::string(1, version) + std::string(15, '\0');
    for (const std::int64_t count :
         {std::int64_t{0}, std::int64_t{0}, std::int64_t{leaps}, static_cast<std::int64_t>(shifts.size()),
          static_cast<std::int64_t>(easts.size()), std::int64_t{4}})
      bytes += number(count, 4);
    for (const auto& [at, type] : shifts) bytes += number(at, time_size);
    for (const auto& [at, type] : shifts) bytes += static_cast<char>(type);
    for (const std::int64_t east : easts) bytes += number(east, 4) + std::string(2, '\0');
    return bytes + std::string("ABC\0", 4) +
           std::string(static_cast<std::size_t>(leaps) * static_cast<std::size_t>(time_size + 4), '\0');
  }
  std::string bytes() const { return version == '\0' ? block(4) : block(4) + block(8) + footer; }
};

std::string refused(const Made& made) {
  const auto zone = read_time_zone(made.bytes());
  return zone ? "" : zone.error();
}

TEST(TimeZoneFile, has_its_shifts_and_then_its_rule) {
  const auto zone = read_time_zone(Made{}.bytes());
  ASSERT_TRUE(zone) << zone.error();
  EXPECT_EQ((*zone)->at(seconds{999}).east, hours{1});
  EXPECT_EQ((*zone)->at(seconds{999}).to, seconds{1000});
  EXPECT_EQ((*zone)->at(seconds{1000}).east, hours{2});
  EXPECT_EQ((*zone)->at(seconds{1999}).to, seconds{2000});
  EXPECT_EQ((*zone)->at(seconds{2000}).from, seconds{2000});
  EXPECT_EQ((*zone)->at(utc(2040, 7, 1)).east, hours{2});
  EXPECT_EQ((*zone)->at(utc(2040, 12, 1)).east, hours{1});
}

TEST(TimeZoneFile, may_be_of_version_1_or_have_no_rule_or_no_shifts) {
  for (const Made& made :
       {Made{.version = '\0'}, Made{.footer = "\n\n"}, Made{.version = '4', .footer = "\n\n"}}) {
    const auto zone = read_time_zone(made.bytes());
    ASSERT_TRUE(zone) << zone.error();
    EXPECT_EQ((*zone)->at(seconds{1500}).east, hours{2});
    EXPECT_EQ((*zone)->at(utc(2040, 7, 1)).east, hours{1});
    EXPECT_GT((*zone)->at(utc(2040, 7, 1)).to, utc(2900, 1, 1));
  }
  const auto zone = read_time_zone(Made{.easts = {0}, .shifts = {}, .footer = "\nUTC0\n"}.bytes());
  ASSERT_TRUE(zone) << zone.error();
  EXPECT_EQ((*zone)->at(seconds{0}).east, seconds{0});
}

TEST(TimeZoneFile, what_is_wrong_with_it_is_said) {
  EXPECT_EQ(refused({.leaps = 2}), "it counts leap seconds");
  EXPECT_EQ(refused({.easts = {}, .shifts = {}}), "it has no clock");
  EXPECT_EQ(refused({.easts = {26 * 3600, 0}}), "a clock is more than a day ahead");
  EXPECT_EQ(refused({.shifts = {{1000, 2}}}), "a shift of its clocks is out of order or of range");
  EXPECT_EQ(refused({.shifts = {{1000, 1}, {1000, 0}}}), "a shift of its clocks is out of order or of range");
  EXPECT_EQ(refused({.shifts = {{INT64_MIN, 1}}}), "a shift of its clocks is out of order or of range");
  EXPECT_EQ(refused({.footer = "\nnonsense\n"}), "its last line is not a rule of POSIX' TZ");
  EXPECT_EQ(refused({.footer = "\nCET-1"}), "it is cut off");
  EXPECT_EQ(read_time_zone("TZif2").error(), "it is cut off");
  EXPECT_EQ(read_time_zone("#!/bin/sh").error(), "it does not begin with 'TZif'");
  std::string huge = Made{}.bytes();
  huge.replace(32, 4, std::string(4, '\xff'));  // the number of shifts
  EXPECT_EQ(read_time_zone(huge).error(), "it is cut off");
}

TEST(TimeZoneFile, cut_off_anywhere_is_refused) {
  const std::string whole = Made{}.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_time_zone(std::string(whole, 0, length))) << length;
}

// Whatever a file says, what it is asked has an answer that the question lies in.
TEST(TimeZoneFile, with_bytes_changed_by_chance_is_refused_or_a_zone) {
  Chance chance;
  const std::string folder = system_time_zones().folder() + "/";
  for (const char* name : {"Europe/Dublin", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"}) {
    const auto whole = read_regular_file(folder + name);
    ASSERT_TRUE(whole) << folder + name;
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = *whole;
      for (std::int64_t flips = chance.from_one_to(8); flips > 0; --flips)
        bytes[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(bytes.size()) - 1))] =
            static_cast<char>(chance.up_to(255));
      const auto zone = read_time_zone(bytes);
      if (!zone) continue;
      for (int ask = 0; ask < 4; ++ask) {
        const seconds at{chance.up_to(20'000'000'000) - 10'000'000'000};
        const TimeZone::Span span = (*zone)->at(at);
        ASSERT_TRUE(span.from <= at && at < span.to && span.east > -hours{26} && span.east < hours{26});
      }
    }
  }
}

TEST(TimeZoneFile, of_each_zone_of_the_system_has_spans_that_follow_one_another) {
  const TimeZones& zones = system_time_zones();
  std::size_t known = 0;
  for (const std::string& name : zones.names()) {
    const TimeZone* const zone = zones.find(name);
    ASSERT_NE(zone, nullptr) << name;
    ++known;
    for (seconds at = utc(1800, 1, 1); at < utc(2100, 1, 1);) {
      const TimeZone::Span span = zone->at(at);
      ASSERT_TRUE(span.from <= at && at < span.to) << name;
      ASSERT_EQ(zone->at(span.to - seconds{1}).east, span.east) << name;
      at = span.to;
    }
  }
  EXPECT_GT(known, 400U);
}

}  // namespace
}  // namespace weir::core
