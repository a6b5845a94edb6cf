// The script by which servers add up usage beside steering::Usage, in Lua 5.4 (tests/CMakeLists.txt); in 5.1
// a Redis runs it.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "core/rule.hpp"
#include "redis/lua_redis_test.hpp"
#include "resp/value.hpp"
#include "server/usage_script.hpp"
#include "steering/usage.hpp"

namespace weir::inline v0_1::server {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;

redis::LuaReply ask(redis::LuaRedis& redis, const std::string& command, nanoseconds now) {
  resp::ReplyParser parser;
  std::vector<std::string> words;
  for (const resp::Value& each : parser.parse(command).value.items) words.emplace_back(each.text);
  return redis.answer(words, now);
}

void add(redis::LuaRedis& redis, const steering::Booking& booking, nanoseconds now) {
  std::string asked;
  append_add_usage(asked, "key", booking);
  ASSERT_EQ(ask(redis, asked, now).wire(), ":1\r\n");
}

steering::Usage find(redis::LuaRedis& redis, const std::vector<steering::UsageWindow>& windows,
                     nanoseconds now) {
  std::string asked;
  append_find_usage(asked, "key");
  const std::string answer = ask(redis, asked, now).wire();
  resp::ReplyParser parser;
  return read_usage(parser.parse(answer).value, windows, now);
}

TEST(UsageScript, keeps_a_key_no_shorter_for_what_comes_late) {
  const std::vector<steering::UsageWindow> windows = {
      steering::UsageWindow::of(*core::Rule::parse("9/day align=calendar"))};
  const nanoseconds midnight = hours{24 * 20'000};
  redis::LuaRedis redis;
  steering::Booking booking{.limit = "l", .key = "k", .windows = windows, .utc = midnight};
  booking.change.add(7);
  add(redis, booking, midnight);
  booking.utc = midnight - hours{1};
  add(redis, booking, midnight + minutes{1});
  const nanoseconds next_day = midnight + hours{47};
  EXPECT_EQ(find(redis, windows, next_day).of(windows[0], next_day).last, 7);
}

TEST(UsageScript, books_as_a_process_does) {
  const std::vector<steering::UsageWindow> windows = {
      steering::UsageWindow::of(*core::Rule::parse("9/h")),
      steering::UsageWindow::of(*core::Rule::parse("9/10s")),
      steering::UsageWindow::of(*core::Rule::parse("9/day align=calendar"))};
  core::Chance chance;
  for (int trace = 0; trace < 100; ++trace) {
    redis::LuaRedis redis;
    steering::Usage model;
    nanoseconds now = hours{480'000};
    for (int step = 0; step < 40; ++step) {
      now += minutes{chance.from_one_to(60 * 30)};
      // Some come late.
      const nanoseconds utc = now - minutes{chance.from_one_to(60 * 30) - 1};
      steering::Booking booking{.limit = "l", .key = "k", .windows = windows, .utc = utc};
      for (int i = 0; i < 3; ++i) booking.change.add(chance.up_to(20) - 10);
      model.book(windows, booking.change, utc);
      add(redis, booking, now);
      const steering::Usage told = find(redis, windows, now);
      for (const steering::UsageWindow& each : windows) {
        const auto expected = model.of(each, now);
        EXPECT_EQ(told.of(each, now).used, expected.used) << step;
        EXPECT_EQ(told.of(each, now).last, expected.last) << step;
      }
      ASSERT_EQ(told.hours_at(now), model.hours_at(now)) << step;
    }
  }
}

}  // namespace
}  // namespace weir::server
