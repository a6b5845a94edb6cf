#include "service/rate_limit_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/chance_test.hpp"
#include "core/duration.hpp"
#include "limits/world_test.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

Forms forms(std::string_view name) {
  Forms chosen;
  EXPECT_TRUE(chosen.choose(name));
  return chosen;
}

// What the last request of the world is told.
std::string told(limits::World& world, std::string_view form = "ratelimit-11") {
  std::string fields;
  const bool asked = world.matched.outcome == limits::Matched::Outcome::meets;
  append_rate_limit_fields(*world.set, world.matched, asked ? &world.request : nullptr, forms(form),
                           world.wall, fields);
  std::string lines;
  for (const char c : fields) {
    if (c != '\r') lines += c;
  }
  return lines;
}

constexpr std::string_view kUser = "version: 1\nlimits:\n  user: { by: [user], rate: 20/s burst 40 }\n";

TEST(RateLimitFields, of_one_limit_in_every_form) {
  limits::World world(kUser);
  world.ask("user=u");
  EXPECT_EQ(told(world), "RateLimit-Policy: \"user\";q=40;w=2\nRateLimit: \"user\";r=39;t=2\n");
  EXPECT_EQ(told(world, "draft-06"),
            "RateLimit-Policy: 40;w=2\nRateLimit-Limit: 40\nRateLimit-Remaining: 39\nRateLimit-Reset: 1\n");
  EXPECT_EQ(told(world, "x-ratelimit"),
            "X-RateLimit-Limit: 40\nX-RateLimit-Remaining: 39\nX-RateLimit-Reset: 1\n");
  EXPECT_EQ(told(world, "x-ratelimit-epoch"),
            "X-RateLimit-Limit: 40\nX-RateLimit-Remaining: 39\nX-RateLimit-Reset: 1795219201\n");
  EXPECT_EQ(told(world, "off"), "");
}

TEST(RateLimitFields, say_when_only_of_a_denial_that_a_wait_can_end) {
  limits::World world(kUser);
  EXPECT_EQ(world.allowed(40, "user=u"), 40);
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=40;w=2\nRateLimit: \"user\";r=0;t=1\n");  // the last allowed
  EXPECT_EQ(world.ask("user=u"), "denied 40 0 user in 50ms");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=40;w=2\nRateLimit: \"user\";r=0;t=1\nRetry-After: 1\n");
  EXPECT_EQ(told(world, "off"), "Retry-After: 1\n");
  // One moment in both fields, though the key is full again in 2 s.
  EXPECT_EQ(world.request.decision().reset_after, 2s);
  EXPECT_EQ(told(world, "draft-06"),
            "RateLimit-Policy: 40;w=2\nRateLimit-Limit: 40\nRateLimit-Remaining: 0\nRateLimit-Reset: 1\n"
            "Retry-After: 1\n");
  EXPECT_EQ(told(world, "x-ratelimit"),
            "X-RateLimit-Limit: 40\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1\nRetry-After: 1\n");
  // 1 ns before it would pass.
  world.now += 50ms - 1ns;
  EXPECT_EQ(world.ask("user=u"), "denied 40 0 user in 1ms");
  EXPECT_EQ(world.request.decision().retry_after, 1ns);
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=40;w=2\nRateLimit: \"user\";r=0;t=1\nRetry-After: 1\n");
  world.now += 1ns;
  EXPECT_EQ(world.ask("user=u"), "allowed 40 0 user");
  // Above the burst: waiting does not help.
  EXPECT_EQ(world.ask("user=v", 41), "denied 40 40 user");
  EXPECT_EQ(told(world), "RateLimit-Policy: \"user\";q=40;w=2\nRateLimit: \"user\";r=40;t=2\n");
  EXPECT_EQ(told(world, "x-ratelimit"),
            "X-RateLimit-Limit: 40\nX-RateLimit-Remaining: 40\nX-RateLimit-Reset: 0\n");
  // Retry-After only where the file wants it.
  EXPECT_EQ(world.ask("user=u"), "denied 40 0 user in 50ms");
  std::string fields;
  append_rate_limit_fields(*world.set, world.matched, &world.request,
                           {Forms::RateLimit::none, Forms::XRateLimit::none, false}, world.wall, fields);
  EXPECT_EQ(fields, "");
}

// A large cost is denied for the little that it lacks, and t is the time for all that is left.
TEST(RateLimitFields, never_say_to_come_again_before_t) {
  limits::World world("version: 1\nlimits:\n  user: { by: [user], rate: 1/s burst 40 }\n");
  EXPECT_EQ(world.ask("user=u", 10), "allowed 40 30 user");
  EXPECT_EQ(world.ask("user=u", 32), "denied 40 30 user in 2000ms");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=40;w=40\nRateLimit: \"user\";r=30;t=30\nRetry-After: 30\n");
  EXPECT_EQ(told(world, "off"), "Retry-After: 2\n") << "no t is told";
  limits::World hidden("version: 1\nlimits:\n  user: { by: [user], rate: 1/s burst 40, show: false }\n");
  EXPECT_EQ(hidden.ask("user=u", 10), "allowed 40 30 user");
  EXPECT_EQ(hidden.ask("user=u", 32), "denied 40 30 user in 2000ms");
  EXPECT_EQ(told(hidden), "Retry-After: 2\n");
}

TEST(RateLimitFields, of_a_denied_request_say_what_is_so_now) {
  limits::World world(R"(
version: 1
limits:
  tenant: { by: [tenant], rate: 10/s burst 20 }
  user: { by: [user], rate: 1/min burst 1 }
)");
  EXPECT_EQ(world.ask("tenant=t user=u"), "allowed 1 0 user");
  EXPECT_EQ(world.ask("tenant=t user=u"), "denied 1 0 user in 60000ms");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"tenant\";q=20;w=2, \"user\";q=1;w=60\n"
            "RateLimit: \"tenant\";r=19;t=2, \"user\";r=0;t=60\nRetry-After: 60\n")
      << "nothing was charged to the tenant";
}

TEST(RateLimitFields, have_an_item_for_each_window_of_each_limit_that_is_shown) {
  limits::World world(R"(version: 1
limits:
  edge: { rate: 1000/s }
  told: { rate: 600/min, show: true }
  tenant: { by: [tenant], rate: [10/s burst 3, 100/min burst 5, 1000/90s algorithm=fixed_window, 9000/day algorithm=sliding_window_counter] }
  user: { by: [user], rate: 7/min }
  secret: { by: [user], rate: 5/s, show: false }
  shadowed: { by: [user], rate: 1/h, shadow: until 2030-01-01 }
  free: { by: [user], rate: 3/s, allow: { user: u } }
  other: { by: [nobody], rate: 3/s }
)");
  world.ask("tenant=t user=u");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"told\";q=600;w=60, \"tenant-1s\";q=3;w=1, \"tenant-1min\";q=5;w=3, "
            "\"tenant-90s\";q=1000;w=90, \"tenant-1d\";q=9000;w=86400, \"user\";q=7;w=60\n"
            "RateLimit: \"told\";r=599;t=60, \"tenant-1s\";r=2;t=1, \"tenant-1min\";r=4;t=3, "
            "\"tenant-90s\";r=999;t=90, \"tenant-1d\";r=8999;t=85401, \"user\";r=6;t=52\n");
  // The limit that decides is not shown.
  EXPECT_EQ(world.ask("user=u", 6), "denied 5 4 secret");
  EXPECT_EQ(told(world, "x-ratelimit"), "");
  EXPECT_EQ(told(world, "draft-06"), "");
}

TEST(RateLimitFields, of_lifted_windows_and_lists_there_are_none) {
  limits::World world(R"(version: 1
limits:
  user:
    by: [user]
    rate: [10/s, 100/min]
    deny: { user: bad }
    overrides: [{ when: { user: big }, rate: unlimited/min }, { when: { user: free }, rate: unlimited }]
)");
  world.ask("user=big");
  EXPECT_EQ(told(world), "RateLimit-Policy: \"user-1s\";q=10;w=1\nRateLimit: \"user-1s\";r=9;t=1\n");
  EXPECT_EQ(world.ask("user=free"), "allowed -1 -1");
  EXPECT_EQ(told(world), "");
  EXPECT_EQ(world.ask("user=bad"), "denied 0 0 user");
  EXPECT_EQ(told(world), "");
  EXPECT_EQ(told(world, "x-ratelimit"), "");
}

TEST(RateLimitFields, of_a_class_are_what_it_may_take) {
  limits::World world(R"(version: 1
classes: [default, bulk]
limits:
  user: { by: [user], rate: 10/s burst 100, leave: { bulk: 50% } }
)");
  EXPECT_EQ(world.allowed(60, "user=u", "bulk"), 50);
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=100;w=10\nRateLimit: \"user\";r=0;t=1\nRetry-After: 1\n");
  world.ask("user=u");
  EXPECT_EQ(told(world), "RateLimit-Policy: \"user\";q=100;w=10\nRateLimit: \"user\";r=49;t=5\n");
  world.ask("user=u", 1, "bulk");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=100;w=10\nRateLimit: \"user\";r=0;t=1\nRetry-After: 1\n");
}

TEST(RateLimitFields, of_limits_that_the_request_brings_are_numbered) {
  limits::World world(kUser);
  const std::vector<store::Limit> limits = {{.rule = *core::Rule::parse("10/s")},
                                            {.rule = *core::Rule::parse("100/min burst 20")}};
  std::vector<store::Check> checks = {{.limit = &limits[0], .key = "a", .cost = weir::Cost{1}},
                                      {.limit = &limits[1], .key = "b", .cost = weir::Cost{1}}};
  store::Request request;
  request.checks = checks;
  store::Request* const one = &request;
  world.embedded.submit({&one, 1}, {world.now, world.now});
  std::string fields;
  append_rate_limit_fields(request, Forms{}, world.wall, fields);
  EXPECT_EQ(fields,
            "RateLimit-Policy: \"limit\";q=10;w=1, \"limit-2\";q=20;w=12\r\n"
            "RateLimit: \"limit\";r=9;t=1, \"limit-2\";r=19;t=12\r\n");
}

TEST(RateLimitFields, have_no_more_digits_than_a_structured_field_may) {
  limits::World world(
      "version: 1\nlimits:\n  user: { by: [user], rate: 1000000000/s burst 9000000000000000000 }\n");
  world.ask("user=u");
  EXPECT_EQ(told(world),
            "RateLimit-Policy: \"user\";q=999999999999999;w=9000000000\n"
            "RateLimit: \"user\";r=999999999999999;t=9000000000\n");
}

TEST(RateLimitFields, are_those_that_the_file_names) {
  const auto named = [](const std::vector<std::string>& headers) {
    return forms_of({.status = 429, .headers = headers});
  };
  EXPECT_EQ(named({}), (Forms{Forms::RateLimit::ratelimit_11, Forms::XRateLimit::none, true}));
  EXPECT_EQ(named({"retry-after"}), (Forms{Forms::RateLimit::none, Forms::XRateLimit::none, true}));
  EXPECT_EQ(named({"off"}), (Forms{Forms::RateLimit::none, Forms::XRateLimit::none, false}));
  EXPECT_EQ(named({"draft-06", "x-ratelimit-epoch"}),
            (Forms{Forms::RateLimit::draft_06, Forms::XRateLimit::epoch, false}));
  EXPECT_EQ(named({"retry-after", "ratelimit-11", "x-ratelimit"}),
            (Forms{Forms::RateLimit::ratelimit_11, Forms::XRateLimit::seconds, true}));
  Forms chosen;
  EXPECT_FALSE(chosen.choose("draft-03"));
  EXPECT_FALSE(chosen.choose("retry-after"));
  EXPECT_FALSE(chosen.choose("RateLimit-11"));
}

std::uint64_t parameter(std::string_view fields, std::string_view name) {
  const std::size_t at = fields.find(name);
  EXPECT_NE(at, std::string::npos) << fields;
  return std::strtoull(fields.substr(at + name.size()).data(), nullptr, 10);
}

// By asking: at the second that is told a unit is there, a second before there was none.
TEST(RateLimitFields, tell_the_second_at_which_there_is_one_more) {
  core::Chance chance;
  int empty = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t count = chance.from_one_to(1000);
    const std::int64_t burst = chance.from_one_to(200);
    const nanoseconds period = std::chrono::seconds{chance.from_one_to(100'000)};
    limits::World world("version: 1\nclasses: [default, bulk]\nlimits:\n  user: { by: [user], rate: " +
                        std::to_string(count) + "/" + std::to_string(period.count()) + "ns burst " +
                        std::to_string(burst) + ", leave: { bulk: 30% } }\n");
    if (!world.set) continue;
    const std::string_view class_name = chance.up_to(1) == 0 ? "default" : "bulk";
    for (int step = 0; step < 12; ++step) {
      world.now += nanoseconds{chance.up_to(2 * period.count() / count + 1)};
      world.ask("user=u", static_cast<std::uint64_t>(chance.up_to(burst)), class_name);
      const std::string fields = told(world);
      const std::uint64_t left = parameter(fields, ";r=");
      const std::uint64_t until_reset = parameter(fields, ";t=");
      ASSERT_EQ(left, static_cast<std::uint64_t>(world.request.decision().remaining));
      ASSERT_EQ(parameter(fields, ";q="), static_cast<std::uint64_t>(burst));
      // Multiplied out: (w - 1) x count < burst x period <= w x count, in seconds.
      const auto fits = [&](std::uint64_t units, std::uint64_t told_seconds) {
        const unsigned __int128 needed =
            static_cast<unsigned __int128>(units) * static_cast<std::uint64_t>(period.count());
        const auto counted = [&](std::uint64_t each) {
          return static_cast<unsigned __int128>(each) * 1'000'000'000U * static_cast<std::uint64_t>(count);
        };
        return needed <= counted(told_seconds) && (told_seconds == 0 || needed > counted(told_seconds - 1));
      };
      ASSERT_TRUE(fits(static_cast<std::uint64_t>(burst), parameter(fields, ";w="))) << fields;
      if (left > 0) {
        ASSERT_TRUE(fits(left, until_reset)) << fields;
        continue;
      }
      ++empty;
      if (world.set->limits()[0].windows[0].limit.rule.kept.count() > 0 || until_reset > 1'000'000) continue;
      const nanoseconds before = world.now;
      const auto passes = [&](std::uint64_t after) {
        world.now = before + std::chrono::seconds{after};
        const bool there = world.ask("user=u", 1, class_name, store::Verb::look).starts_with("allowed");
        world.now = before;
        return there;
      };
      if (burst == 1 && class_name == "bulk") continue;  // nothing is ever left for it
      ASSERT_TRUE(passes(until_reset)) << fields;
      ASSERT_FALSE(passes(until_reset - 1)) << fields;
    }
  }
  EXPECT_GT(empty, 500);
}

}  // namespace
}  // namespace weir::service
