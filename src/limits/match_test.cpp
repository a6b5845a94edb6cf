#include "limits/match.hpp"

#include <gtest/gtest.h>

#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kExample = R"(
version: 1
classes: [critical, default, bulk]
lists:
  partners: [acme, globex]
  bad_nets: { file: bad_nets.txt }
limits:
  edge:
    rate: 20000/s burst 100000
    leave: { default: 20%, bulk: 50% }
    reserve: 25%
    on_store_error: local 25%
  ip:
    by: [ip]
    group_ip: { v4: 32, v6: 64 }
    rate: 50/s burst 100
    deny:  { ip: "@bad_nets" }
    allow: { ip: 10.0.0.0/8 }
  tenant:
    by: [tenant]
    within: edge
    rate: [100/s burst 200, 1000000/day]
    overrides:
      - { when: { tenant: "@partners" }, rate: [400/s burst 800, 5000000/day], guarantee: 200/s burst 100 }
      - { when: { tenant: acme }, until: 2026-12-01T00:00:00Z, reason: TICKET-4711, rate: [2000/s burst 4000, unlimited/day] }
  user:   { by: [tenant, user], within: tenant, rate: 20/s burst 40, max_wait: 1s }
  search: { by: [tenant], rate: 10/s burst 20, cost: [{ when: { path: "/v1/search/deep*" }, cost: 10 }, { cost: 1 }], shadow: until 2027-01-15 }
  tokens: { by: [tenant, model], rate: 100000/min burst 50000, hold: { estimate: 2000, ttl: 60s, at_most: 50% } }
routes:
  - { when: { path: /healthz }, limits: [] }
  - { when: { method: [POST, PUT], path: "/v1/chat*" }, limits: [edge, ip, user, tokens] }
  - { when: { tenant: "@partners", header.x-batch: "1" }, class: bulk, limits: [edge, user] }
  - { limits: [edge, ip, user, search] }
answers: { status: 429, headers: [retry-after, ratelimit-11] }
)";

World example() { return World(kExample, {{"bad_nets.txt", "203.0.113.0/24\n2001:db8:bad::/48\n"}}); }

// Each that waits in line keeps it.
TEST(Match, there_is_room_for_what_a_request_meets_and_no_more) {
  World world(R"(
version: 1
classes: [default, bulk]
limits:
  all: { rate: 10/s burst 10, leave: { bulk: 50% } }
)");
  EXPECT_EQ(world.ask("", 1, "bulk"), "allowed 10 4 all");
  EXPECT_EQ(world.matched.checks.capacity(), 1U);
  EXPECT_EQ(world.matched.own.capacity(), 1U);
}

TEST(Match, what_each_request_of_the_example_meets) {
  World world = example();
  EXPECT_EQ(world.ask("path=/healthz tenant=acme"), "allowed -1 -1");
  EXPECT_EQ(world.met(), "");
  EXPECT_EQ(world.ask("tenant=t user=u path=/v1/x ip=192.0.2.7"), "allowed 40 39 user");
  EXPECT_EQ(world.met(),
            "edge|1s|gcra|  kept 2250000000, ip|1s|gcra|ip 9:192.0.2.7, tenant|1s|gcra|tenant 1:t, "
            "tenant|1d|gcra|tenant 1:t, user|1s|gcra|tenant,user 1:t1:u, search|1s|gcra|tenant 1:t shadow");
  EXPECT_EQ(world.ask("tenant=globex user=u header.x-batch=1 ip=192.0.2.7", 3), "allowed 40 37 user");
  EXPECT_EQ(world.met(),
            "tenant|guarantee|gcra|tenant 6:globex x3 shadow, edge|1s|gcra|  x3 inside 0 kept 3750000000, "
            "tenant|1s|gcra|tenant 6:globex x3, tenant|1d|gcra|tenant 6:globex x3, "
            "user|1s|gcra|tenant,user 6:globex1:u x3");
  EXPECT_EQ(world.ask("tenant=acme user=u path=/v1/search/deeply ip=2001:db8::7"), "allowed 40 39 user");
  EXPECT_EQ(
      world.met(),
      "tenant|guarantee|gcra|tenant 4:acme shadow, edge|1s|gcra|  inside 0 kept 2250000000, "
      "ip|1s|gcra|ip /13:2001:db8::/64, tenant|1s|gcra|tenant 4:acme, user|1s|gcra|tenant,user 4:acme1:u, "
      "search|1s|gcra|tenant 4:acme x10 shadow");
  world.wall = std::chrono::sys_days{std::chrono::year{2026} / 12 / 1};
  EXPECT_EQ(world.ask("tenant=acme user=u ip=10.1.2.3", 1, "critical"), "allowed 40 38 user")
      << "10/8 is exempt";
  EXPECT_EQ(world.met(),
            "tenant|guarantee|gcra|tenant 4:acme shadow, edge|1s|gcra|  inside 0 kept 1250000000, "
            "tenant|1s|gcra|tenant 4:acme, tenant|1d|gcra|tenant 4:acme, user|1s|gcra|tenant,user 4:acme1:u, "
            "search|1s|gcra|tenant 4:acme shadow")
      << "the raise has ended, and the partners' numbers hold";
  world.wall = std::chrono::sys_days{std::chrono::year{2027} / 1 / 15};
  EXPECT_EQ(world.ask("tenant=t user=u2 ip=10.1.2.3 path=/v1/search/deep"), "allowed 20 9 search")
      << "the shadow has ended";
  EXPECT_EQ(world.ask("tenant=t ip=203.0.113.9 user=u"), "denied 0 0 ip");
  EXPECT_EQ(world.ask("tenant=t ip=::ffff:203.0.113.9 user=u"), "denied 0 0 ip");
  EXPECT_EQ(world.ask("method=PUT path=/v1/chat/1 model=m tenant=t user=u9"), "allowed 40 39 user");
  EXPECT_EQ(world.matched.skipped_of.size(), 1U) << "no ip";
}

TEST(Match, errors_name_what_is_wrong) {
  World world = example();
  EXPECT_EQ(world.ask("user=a user=b"), "error: attribute 'user' is given twice");
  EXPECT_EQ(world.ask("unknown=a unknown=b"), "error: attribute 'unknown' is given twice");
  EXPECT_EQ(world.ask("user=a", 1, "vip"), "error: unknown class 'vip'; known: critical, default, bulk");
  World other(R"(
version: 1
limits:
  calls: { by: [tenant], rate: 10/s, cost: { from: tokens }, required: true }
)");
  EXPECT_EQ(other.ask("user=a"), "error: limits.calls: the request has no attribute 'tenant'");
  EXPECT_EQ(other.ask("tenant=a"), "error: limits.calls.cost: the request has no attribute 'tokens'");
  EXPECT_EQ(
      other.ask("tenant=a tokens=1.5"),
      "error: limits.calls.cost: attribute 'tokens': '1.5' is not an integer from 0 to 9223372036854775807");
  EXPECT_EQ(other.ask("tenant=a tokens=4611686018427387904", 2),
            "error: limits.calls.cost: 2 x 4611686018427387904 is above 9223372036854775807");
  EXPECT_EQ(other.ask("tenant=a tokens=3", 2), "allowed 10 4 calls");
  EXPECT_EQ(other.ask("tenant=a tokens=3", 1, "x"), "error: class 'x': the limits file has no classes");
}

// What a pattern begins with tells which routes to ask; it is all that matters only of some patterns.
TEST(Match, a_pattern_is_compared_whole_wherever_its_stars_are) {
  World world(R"(
version: 1
limits:
  last: { rate: 1/s burst 9 }
  middle: { rate: 1/s burst 9 }
  two: { rate: 1/s burst 9 }
  whole: { rate: 1/s burst 9, overrides: [{ when: { path: "/w*e" }, rate: 1/s burst 5 }] }
routes:
  - { when: { path: "/a*b" }, limits: [middle] }
  - { when: { path: ["/c*d*", "/cc"] }, limits: [two] }
  - { when: { path: "/a*" }, limits: [last] }
  - { limits: [whole] }
)");
  EXPECT_EQ(world.ask("path=/axb"), "allowed 9 8 middle");
  EXPECT_EQ(world.ask("path=/axc"), "allowed 9 8 last");
  EXPECT_EQ(world.ask("path=/cxd"), "allowed 9 8 two");
  EXPECT_EQ(world.ask("path=/cc"), "allowed 9 7 two");
  EXPECT_EQ(world.ask("path=/ccc"), "allowed 9 8 whole");
  EXPECT_EQ(world.ask("path=/we"), "allowed 5 3 whole");
  EXPECT_EQ(world.ask("path=/weed"), "allowed 9 6 whole");
}

TEST(Match, no_two_values_make_one_key) {
  World world("version: 1\nlimits:\n  pair: { by: [a, b], rate: 1/min }\n");
  const std::string long_value(129, 'x');
  EXPECT_EQ(world.ask("a=x b=yz"), "allowed 1 0 pair");
  EXPECT_EQ(world.ask("a=xy b=z"), "allowed 1 0 pair");
  EXPECT_EQ(world.ask("a= b=xyz"), "allowed 1 0 pair");
  EXPECT_EQ(world.ask("a=1:x b="), "allowed 1 0 pair");
  EXPECT_EQ(world.ask("a=" + long_value + " b=1"), "allowed 1 0 pair");
  EXPECT_EQ(world.matched.checks[0].key.size(), 1U + 64 + 3);
  EXPECT_EQ(world.ask("a=" + std::string(world.matched.checks[0].key.substr(0, 65)) + " b=1"),
            "allowed 1 0 pair");
  EXPECT_EQ(world.ask("a=" + long_value + " b=1"), "denied 1 0 pair in 60000ms");
  EXPECT_EQ(world.ask("a=" + long_value + "x b=1"), "allowed 1 0 pair");
  World grouped("version: 1\nlimits:\n  ip: { by: [ip], group_ip: { v4: 24, v6: 64 }, rate: 1/min }\n");
  EXPECT_EQ(grouped.ask("ip=192.0.2.1"), "allowed 1 0 ip");
  EXPECT_EQ(grouped.ask("ip=192.0.2.9"), "denied 1 0 ip in 60000ms");
  EXPECT_EQ(grouped.ask("ip=::ffff:192.0.2.9"), "denied 1 0 ip in 60000ms");
  EXPECT_EQ(grouped.ask("ip=192.0.2.0/24"), "allowed 1 0 ip") << "a text, not an address";
  EXPECT_EQ(grouped.ask("ip=2001:db8::1"), "allowed 1 0 ip");
  EXPECT_EQ(grouped.ask("ip=2001:DB8:0:0:ff::"), "denied 1 0 ip in 60000ms");
}

TEST(Match, the_trace_names_the_overrides_of_cost_and_shares) {
  World world(R"(
version: 1
classes: [critical, default]
limits:
  a:
    by: [t]
    rate: 9/s burst 90
    leave: { default: 10% }
    overrides:
      - { when: { t: x }, cost: 2 }
      - { when: { t: x }, leave: { default: 20% } }
      - { when: { t: x }, reserve: 5% }
)");
  const std::vector<Attribute> attributes = split("t=x");
  Trace trace;
  ASSERT_TRUE(match(*world.set, {attributes}, world.wall, world.memory, world.matched, &trace));
  ASSERT_EQ(trace.steps.size(), 1U);
  const TraceStep& step = trace.steps[0];
  EXPECT_EQ(step.override_of, kNone);
  EXPECT_EQ(step.cost_by, 0U);
  EXPECT_EQ(step.leave_by, 1U);
  EXPECT_EQ(step.reserve_by, 2U);
  const NamedCost named[] = {{"a", 5}};
  ASSERT_TRUE(match(*world.set, {.attributes = attributes, .costs = named}, world.wall, world.memory,
                    world.matched, &trace));
  EXPECT_EQ(trace.steps[0].cost_by, kNone) << "the request says what it costs";
}

}  // namespace
}  // namespace weir::limits
