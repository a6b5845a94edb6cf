// weir::Limits decides alike in process, in a store inside the process, and in a real Redis: random requests
// under one file, whose limits drain by a unit an hour at most, and no two of which are denied for equally
// long, so that no clock makes a difference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "redis/server.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir {
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

TEST(LimitsStore, decides_alike_in_a_store_inside_the_process) { expect_alike("memory:"); }

TEST(LimitsStore, decides_alike_in_a_real_redis) {
  if (RedisServer::program().empty()) GTEST_SKIP() << "no redis-server here";
  const RedisServer redis;
  expect_alike("redis+unix://" + redis.socket_path());
}

}  // namespace
}  // namespace weir
