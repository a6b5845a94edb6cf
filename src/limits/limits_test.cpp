#include "weir/limits.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/time_zones_test.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFile = R"(
version: 1
classes: [default, bulk]
limits:
  tenant: { by: [tenant], rate: 10/s, leave: { bulk: 50% } }
  user: { by: [tenant, user], within: tenant, rate: [5/s, 100/h], deny: { user: root } }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { limits: [user] }
)";

struct Clocks {
  struct One : Clock {
    std::chrono::nanoseconds now() const noexcept override { return time; }
    std::chrono::nanoseconds time = 1000s;
  };
  One steady;
  Limits::Options options{.memory = 1_MiB, .clock = &steady};
};

TEST(Limits, decide_by_a_file) {
  Clocks clocks;
  Limits limits = Limits::from_text(kFile, clocks.options);
  const Attribute asks[] = {{"tenant", "t"}, {"user", "u"}};
  LimitsDecision d = limits.check(asks);
  EXPECT_TRUE(d.allowed());
  EXPECT_EQ(d.by, "user");
  EXPECT_EQ(d.decision.limit, 5);
  EXPECT_EQ(d.decision.remaining, 4);
  d = limits.check({asks, Cost{5}});
  EXPECT_EQ(d.decision.verdict, Verdict::denied);
  EXPECT_EQ(d.decision.retry_after, 200ms);
  EXPECT_EQ(limits.look({asks, Cost{6}}).decision.verdict, Verdict::never);
  d = limits.check({asks, Cost{4}, "bulk"});
  EXPECT_TRUE(d.allowed());
  EXPECT_EQ(d.by, "tenant") << "0 left for bulk, as for the user";
  const Attribute root[] = {{"tenant", "t"}, {"user", "root"}};
  d = limits.check(root);
  EXPECT_EQ(std::pair(d.decision.verdict, d.by), std::pair(Verdict::denied, std::string("user")));
  EXPECT_EQ(d.decision.retry_after, std::nullopt);
  const Attribute health[] = {{"path", "/healthz"}};
  d = limits.check(health);
  EXPECT_TRUE(d.allowed());
  EXPECT_EQ(std::pair(d.decision.limit, d.by), std::pair(std::int64_t{-1}, std::string()));
  const Attribute twice[] = {{"user", "a"}, {"user", "b"}};
  EXPECT_THROW(static_cast<void>(limits.check(twice)), std::invalid_argument);
  EXPECT_NE(limits.explain({asks}).find("* user  5/s"), std::string::npos) << limits.explain({asks});
  EXPECT_EQ(limits.reset(asks, "user"), 2U);
  EXPECT_EQ(limits.look({asks}).by, "tenant");
  EXPECT_EQ(limits.reset(asks), 1U);
}

TEST(Limits, many_at_once_are_decided_in_order) {
  Clocks clocks;
  Limits limits = Limits::from_text(kFile, clocks.options);
  const Attribute asks[] = {{"tenant", "t"}, {"user", "u"}};
  const Attribute health[] = {{"path", "/healthz"}};
  const LimitsRequest requests[] = {{asks, Cost{3}}, {health}, {asks, Cost{3}}, {asks, Cost{2}}};
  LimitsDecision decisions[4];
  limits.check(requests, decisions);
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[1].by, "");
  EXPECT_FALSE(decisions[2].allowed());
  EXPECT_TRUE(decisions[3].allowed());
  EXPECT_THROW(limits.check(requests, std::span(decisions).first(3)), std::invalid_argument);
}

TEST(Limits, a_reload_keeps_debts_and_an_error_changes_nothing) {
  Clocks clocks;
  const std::string path = testing::TempDir() + "weir_limits_test.yaml";
  const auto write = [&path](std::string_view text) { std::ofstream(path) << text; };
  write(kFile);
  Limits limits(path, clocks.options);
  const Attribute asks[] = {{"tenant", "t"}, {"user", "u"}};
  EXPECT_TRUE(limits.check(asks, Cost{5}).allowed());
  write("version: 1\nlimits:\n  user: { by: [tenant, user], rate: 5/s burst 8 }\n");
  limits.reload();
  EXPECT_EQ(limits.look({asks}).decision.remaining, 3);
  write("version: 1\nlimits:\n  user: { raet: 5/s }\n  b: { rate: 0/s }\n");
  try {
    limits.reload();
    FAIL() << "the file has errors";
  } catch (const LimitsFileError& error) {
    EXPECT_GE(error.errors().size(), 2U);
    EXPECT_NE(std::string(error.what()).find("did you mean rate?"), std::string::npos) << error.what();
  }
  EXPECT_EQ(limits.look({asks}).decision.remaining, 3);
  std::filesystem::remove(path);
  EXPECT_THROW(limits.reload(), LimitsFileError);
  EXPECT_THROW(Limits("/nonexistent/limits.yaml"), LimitsFileError);
}

TEST(Limits, any_thread_may_check_while_another_reloads) {
  Limits limits = Limits::from_text("version: 1\nlimits:\n  all: { rate: 1/h burst 1000 }\n");
  std::atomic<int> allowed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 600; ++k) allowed += limits.check(LimitsRequest{}).allowed() ? 1 : 0;
    });
  }
  for (int i = 0; i < 50; ++i) limits.reload("version: 1\nlimits:\n  all: { rate: 1/h burst 1000 }\n");
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(allowed, 1000);
}

constexpr std::string_view kWaiting = R"(
version: 1
classes: [critical, default, bulk]
limits:
  api: { by: [api], rate: 1/s, max_wait: 2s }
  shared: { by: [shared], rate: 10/s, leave: { default: 0%, bulk: 50% } }
  tokens: { by: [model], rate: 1/s burst 1000, hold: { estimate: 400, ttl: 60s } }
  windows: { by: [windows], rate: 10/min algorithm=fixed_window }
)";

TEST(LimitsReservations, wait_as_the_file_says_or_for_less) {
  Clocks clocks;
  Limits limits = Limits::from_text(kWaiting, clocks.options);
  const Attribute asks[] = {{"api", "a"}};
  const LimitsReservation now = limits.reserve({asks}), next = limits.reserve({asks});
  EXPECT_TRUE(now.granted());
  EXPECT_EQ(now.reservation.wait(), 0s);
  EXPECT_TRUE(next.granted());
  EXPECT_EQ(next.reservation.at(), 1001s);
  EXPECT_EQ(next.by, "api");
  EXPECT_EQ(next.reservation.decision().limit, 1);
  const LimitsReservation less = limits.reserve({asks}, {.max_wait = 500ms});
  EXPECT_FALSE(less.granted());
  EXPECT_EQ(less.reservation.decision().retry_after, 1'500ms);
  EXPECT_FALSE(limits.check(asks).allowed());
  try {
    static_cast<void>(limits.reserve({asks}, {.max_wait = 2001ms}));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "weir::Limits::reserve: max_wait is above 2s, the least of the limits that the request meets");
  }
}

TEST(LimitsReservations, hold_for_the_ttl_of_the_limits_at_most) {
  Clocks clocks;
  Limits limits = Limits::from_text(kWaiting, clocks.options);
  const Attribute asks[] = {{"model", "m"}};
  EXPECT_TRUE(limits.reserve({asks}, {.hold = 60s}).granted());
  try {
    static_cast<void>(limits.reserve({asks}, {.hold = 60001ms}));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "weir::Limits::reserve: hold is above 1m, the shortest ttl of the limits that the request meets");
  }
}

TEST(LimitsReservations, are_cancelled_when_they_are_destroyed_before_their_moment) {
  Clocks clocks;
  auto limits = std::make_unique<Limits>(Limits::from_text(kWaiting, clocks.options));
  const Attribute asks[] = {{"api", "a"}};
  EXPECT_TRUE(limits->check(asks).allowed());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limits->reserve({asks}).reservation.wait(), 1s) << i;
  LimitsReservation kept = limits->reserve({asks});
  EXPECT_EQ(kept.reservation.cancel(), 1U);
  EXPECT_EQ(kept.reservation.cancel(), 0U);
  EXPECT_FALSE(kept.granted());
  kept = limits->reserve({asks});
  limits->reload(kWaiting);
  limits.reset();  // the memory stays
  EXPECT_EQ(kept.reservation.left(), 1s);
  EXPECT_EQ(kept.reservation.cancel(), 1U);
}

TEST(LimitsReservations, what_says_no_cost_takes_the_estimate_and_can_be_settled) {
  Clocks clocks;
  Limits limits = Limits::from_text(kWaiting, clocks.options);
  const Attribute asks[] = {{"model", "m"}};
  LimitsReservation held = limits.reserve({asks});
  EXPECT_EQ(held.reservation.decision().remaining, 600);
  EXPECT_EQ(held.reservation.settle(100), 0s);
  EXPECT_EQ(held.reservation.settle(100), std::nullopt);
  EXPECT_EQ(limits.look({asks, Cost{0}}).decision.remaining, 900);
  EXPECT_EQ(limits.reserve({asks, Cost{5}}).reservation.decision().remaining, 895);
  // A check takes it too.
  EXPECT_EQ(limits.check(asks).decision.remaining, 495);
  EXPECT_EQ(limits.check(asks, Cost{1}).decision.remaining, 494);
}

TEST(LimitsReservations, cost_what_the_request_says_of_each_limit) {
  Clocks clocks;
  Limits limits = Limits::from_text(kWaiting, clocks.options);
  const Attribute asks[] = {{"model", "m"}};
  const LimitCost costs[] = {{"tokens", Cost{150}}};
  EXPECT_EQ(limits.check({.attributes = asks, .costs = costs}).decision.remaining, 850);
  LimitsReservation held = limits.reserve({.attributes = asks, .costs = costs});
  EXPECT_EQ(held.reservation.decision().remaining, 700);
  // Without an actual it cost that.
  EXPECT_EQ(held.reservation.settle(), 0s);
  EXPECT_EQ(limits.look({asks, Cost{0}}).decision.remaining, 700);
  const LimitCost wrong[] = {{"token", Cost{1}}};
  try {
    static_cast<void>(limits.check({.attributes = asks, .costs = wrong}));
    FAIL() << "no limit has that name";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "unknown limit 'token'; did you mean tokens?");
  }
}

TEST(LimitsReservations, say_what_applies_and_what_cannot_be) {
  Clocks clocks;
  Limits limits = Limits::from_text(kWaiting, clocks.options);
  const Attribute nothing[] = {{"x", "y"}}, windows[] = {{"windows", "w"}}, shared[] = {{"shared", "s"}};
  const LimitsReservation free = limits.reserve({nothing}, {.max_wait = 1s});
  EXPECT_TRUE(free.granted());
  EXPECT_EQ(free.by, "");
  EXPECT_EQ(free.reservation.decision().limit, -1);
  EXPECT_TRUE(limits.reserve({windows}).granted());
  // A class that leaves something free is told no moment ahead.
  EXPECT_TRUE(limits.reserve({shared, Cost{5}, "bulk"}, {.max_wait = 5s}).granted());
  EXPECT_FALSE(limits.reserve({shared, Cost{1}, "bulk"}, {.max_wait = 5s}).granted());
  EXPECT_EQ(limits.reserve({shared, Cost{6}, "critical"}, {.max_wait = 5s}).reservation.wait(), 100ms);
}

// The wall clock decides, as it is at each decision, in the zones that the program was given.
TEST(Limits, count_by_the_calendar) {
  Limits::use_time_zones(core::test_zones());
  Clocks clocks;
  Clocks::One wall;
  wall.time = core::utc(2026, 10, 31, 21h);
  clocks.options.wall_clock = &wall;
  Limits limits = Limits::from_text(
      "version: 1\nlimits:\n  t: { by: [t], rate: [3/month align=calendar tz=Middle/Nowhere, 9/day "
      "align=calendar] }",
      clocks.options);
  const Attribute asks[] = {{"t", "a"}};
  EXPECT_TRUE(limits.check({asks, Cost{3}}).allowed());
  EXPECT_EQ(limits.check(asks).decision.retry_after, 2h);
  wall.time += 1h;
  EXPECT_EQ(limits.check(asks).decision.retry_after, 1h);
  EXPECT_EQ(limits.charge({asks}, {.limit = "t", .window = std::chrono::months{1}}).charged.overdraft, 1u);
  wall.time += 1h;
  EXPECT_EQ(limits.check({asks, Cost{3}}).decision.reset_after, std::chrono::days{30});
  EXPECT_THROW(limits.reload("version: 1\nlimits:\n  t: { rate: 3/month align=calendar tz=Middle/Earth }"),
               LimitsFileError);
}

}  // namespace
}  // namespace weir
