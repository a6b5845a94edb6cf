// weir::Limits decides alike in process, in a store inside the process, and in a real Redis: random requests
// under one file, whose limits drain by a unit an hour at most, and no two of which are denied for equally
// long, so that no clock makes a difference.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/chance_test.hpp"
#include "redis/server.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::limits_store_test {
namespace {

constexpr std::string_view kFile = R"(
version: 1
classes: [default, bulk]
limits:
  all: { rate: 1/2999min burst 400, leave: { bulk: 25% } }
  tenant: { by: [tenant], within: all, rate: [1/127min burst 60, 1/1439min burst 100] }
  user: { by: [tenant, user], within: tenant, rate: 1/61min burst 20, deny: { user: bad } }
routes:
  - { when: { path: /free }, limits: [] }
  - { limits: [user] }
)";

std::string shown(const LimitsDecision& d) {
  const char* const verdicts[] = {"allowed", "denied", "never"};
  return std::string(verdicts[static_cast<int>(d.decision.verdict)]) + " " +
         std::to_string(d.decision.limit) + " " + std::to_string(d.decision.remaining) + " " + d.by;
}

void expect_alike(const std::string& url) {
  // A remembered denial is told at once, though another limit of the request may be denied for longer.
  RedisStore store{
      url,
      {.deadline = std::chrono::seconds{5}, .on_store_error = OnStoreError::deny, .remember_denials = false}};
  Limits here = Limits::from_text(kFile);
  Limits there = Limits::from_text(kFile, store);
  core::Chance chance;
  for (int i = 0; i < 600; ++i) {
    const std::string tenant = "t" + std::to_string(chance.up_to(3));
    const std::string user = chance.up_to(20) == 0 ? "bad" : "u" + std::to_string(chance.up_to(3));
    const std::vector<Attribute> attributes = {
        {"tenant", tenant}, {"user", user}, {"path", chance.up_to(9) == 0 ? "/free" : "/x"}};
    const LimitsRequest request{attributes, Cost{static_cast<std::uint64_t>(chance.up_to(3))},
                                chance.up_to(1) == 0 ? "bulk" : ""};
    ASSERT_EQ(shown(there.check(request)), shown(here.check(request))) << i << " " << here.explain(request);
    if (chance.up_to(60) == 0) {
      ASSERT_EQ(there.reset(attributes, "user"), here.reset(attributes, "user"));
    }
  }
  const Attribute asks[] = {{"tenant", "new"}, {"user", "new"}};
  const LimitsRequest requests[] = {{asks, Cost{15}}, {asks, Cost{15}}, {asks, Cost{5}}};
  LimitsDecision ours[3];
  LimitsDecision theirs[3];
  here.check(requests, ours);
  there.check(requests, theirs);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shown(theirs[i]), shown(ours[i])) << i;
}

// Under a file whose moments are an hour apart. What is cancelled or settled is in every store the same.
std::string reserved(Limits& limits) {
  const Attribute asks[] = {{"user", "ada"}};
  const Attribute tokens[] = {{"model", "large"}};
  std::string told;
  const auto tell = [&told](const LimitsReservation& mine) {
    const auto hours = std::chrono::round<std::chrono::hours>(mine.reservation.wait()).count();
    told += mine.by + (mine.granted() ? " " + std::to_string(hours) : " denied") + "\n";
  };
  std::vector<LimitsReservation> waiting;
  for (int i = 0; i < 4; ++i) tell(waiting.emplace_back(limits.reserve({asks})));
  tell(limits.reserve({asks}, {.max_wait = std::chrono::hours{1}}));
  waiting.erase(waiting.begin() + 1);
  tell(limits.reserve({asks}));
  waiting.clear();
  tell(limits.reserve({asks}, {.max_wait = std::chrono::hours{5}}));

  // What is within the limit that is waited for waits with it; another limit only as long as it absorbs.
  const Attribute call[] = {{"call", "x"}};
  for (int i = 0; i < 3; ++i) tell(waiting.emplace_back(limits.reserve({call})));
  const Attribute both[] = {{"call", "x"}, {"host", "y"}};
  tell(limits.reserve({both}));
  waiting.clear();

  LimitsReservation estimate = limits.reserve({tokens});
  tell(estimate);
  const auto settled = estimate.reservation.settle(9);
  told += settled ? "in " + std::to_string(std::chrono::round<std::chrono::hours>(*settled).count()) : "lost";
  return told + (estimate.reservation.settle(9) ? " twice" : " once");
}

void expect_reserved_alike(const std::string& url) {
  constexpr std::string_view kWaits = R"(
version: 1
limits:
  user: { by: [user], rate: 1/h, max_wait: 9h }
  tokens: { by: [model], rate: 1/h burst 8, max_wait: 9h, hold: { estimate: 3, ttl: 60s } }
  account: { rate: 1/5h burst 1 }
  call: { by: [call], within: account, rate: 10/h, max_wait: 30h }
  host: { by: [host], rate: 10/h }
routes:
  - { when: { model: "*" }, limits: [tokens] }
  - { when: { call: "*" }, limits: [call, host] }
  - { limits: [user] }
)";
  RedisStore store{url, {.deadline = std::chrono::seconds{5}, .on_store_error = OnStoreError::deny}};
  Limits here = Limits::from_text(kWaits);
  Limits there = Limits::from_text(kWaits, store);
  const std::string expected =
      "user 0\nuser 1\nuser 2\nuser 3\nuser denied\nuser 1\nuser 1\n"
      "account 0\naccount 5\naccount 10\naccount 15\n"
      "tokens 0\nin 2 once";
  EXPECT_EQ(reserved(here), expected);
  EXPECT_EQ(reserved(there), expected) << url;
}

TEST(LimitsStore, reserves_alike_in_a_store_inside_the_process) { expect_reserved_alike("memory:"); }

TEST(LimitsStore, reserves_alike_in_a_real_redis) {
  if (RedisServer::program().empty()) GTEST_SKIP() << "no redis-server here";
  const RedisServer redis;
  expect_reserved_alike("redis+unix://" + redis.socket_path());
}

TEST(LimitsStore, decides_alike_in_a_store_inside_the_process) { expect_alike("memory:"); }

TEST(LimitsStore, decides_alike_in_a_real_redis) {
  if (RedisServer::program().empty()) GTEST_SKIP() << "no redis-server here";
  const RedisServer redis;
  expect_alike("redis+unix://" + redis.socket_path());
}

}  // namespace
}  // namespace weir::limits_store_test
