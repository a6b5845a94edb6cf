// Units that are charged in advance and spent without asking Redis.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

TEST(SharedStore, a_lease_is_shared_out_to_who_waits_first_come_first_served) {
  SharedWorld world(kOne);
  const core::Rule twenty = rule("20/s");
  struct Row {
    std::uint64_t cost;
    const char* expected;
  };
  // Who asks is told what it would have been told alone. Of 6 units one has begun to melt then. A look is not
  // answered by what is left of a lease, and what that is not enough for asks for what it needs.
  const std::vector<Row> rows = {{1, "allowed 19"}, {2, "allowed 2"},  {0, "allowed 14"},
                                 {2, "allowed 0"},  {1, "allowed 13"}, {1, "allowed 12"}};
  for (const Row& row : rows) world.check(twenty, "k", row.cost, {.lease = 6});
  world.run(200us);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 6 | k | 2 x k");
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(world.took(i + 1), rows[i].expected) << i;
  EXPECT_EQ(world.store().counters().leased, 2U);
  EXPECT_EQ(world.store().counters().decided, 4U);
  world.expect_all_told();
}

// When no lease is available, the check asks for what it needs, and those that wait continue to wait.
TEST(SharedStore, a_lease_that_is_denied_falls_back_to_what_is_needed) {
  SharedWorld world(kOne);
  const core::Rule five = rule("5/s");
  world.check(five, "k", 3);
  world.check(five, "k", 1, {.lease = 4});
  world.check(five, "k", 1, {.lease = 4});
  world.check(five, "k", 1, {.lease = 4});
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k 3 | k 4 | 3 x k");
  EXPECT_EQ(world.took(1), "allowed 2");
  EXPECT_EQ(world.took(2), "allowed 1");
  EXPECT_EQ(world.took(3), "allowed 0");
  EXPECT_EQ(world.took(4), "denied for 199800us");
  world.expect_all_told();
}

// A check that waits and wants as much as the lease is denied with it.
TEST(SharedStore, a_lease_that_is_denied_is_a_denial) {
  SharedWorld world(kOne);
  world.check(rule("5/s"), "k", 3);
  world.check(rule("5/s"), "k", 1, {.lease = 4});
  world.check(rule("5/s"), "k", 4, {.lease = 4});
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k 3 | k 4 | k");
  EXPECT_EQ(world.took(3), "denied for 400000us");
}

TEST(SharedStore, a_lease_that_fails_is_not_one) {
  SharedWorld world(kOne);
  world.fate = [](const Deed&) { return says("-OOM no"); };
  world.check(rule("5/s"), "k", 1, {.lease = 4, .on_error = OnStoreError::allow});
  world.run(1ms);
  EXPECT_EQ(world.took(1), "allowed 5 (oom)");
  world.fate = [](const Deed&) { return Fate{}; };
  world.check(rule("5/s"), "k", 1, {.lease = 4});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 4 | k 4");
}

// A lease is no more than the burst, and for a cost above it, it is what is needed; never above what the rule
// admits at all.
TEST(SharedStore, asks_for_no_lease_that_nobody_can_have) {
  struct Row {
    std::uint64_t lease, cost;
    const char* asked;
    const char* expected;
  };
  for (const Row& row :
       {Row{3, 1, "k 3", "allowed 4"}, Row{50, 1, "k 5", "allowed 4"}, Row{2, 4, "k 4", "allowed 1"},
        Row{3, 6, "k 6", "never"}, Row{3, 0, "k", "allowed 5"}, Row{0, 1, "k", "allowed 4"}}) {
    SharedWorld world(kOne);
    world.check(rule("5/s"), "k", row.cost, {.lease = row.lease});
    world.run(10ms);
    EXPECT_EQ(world.asked().substr(0, 3), row.asked) << row.lease << " for " << row.cost;
    EXPECT_TRUE(world.took(1).starts_with(row.expected)) << world.took(1);
  }
}

// A check that wishes no lease asks, though there is one.
TEST(SharedStore, a_lease_is_spent_by_who_wishes_one) {
  SharedWorld world(kOne);
  const core::Rule ten = rule("10/s");
  world.check(ten, "k", 1, {.lease = 5});
  world.check(ten, "k", 1, {.merge = true});
  world.run(1ms);
  world.check(ten, "k", 1);
  world.run(1ms);
  world.check(ten, "k", 1, {.lease = 5});
  world.check(ten, "k", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 5 | k | k");
  EXPECT_EQ(world.took(3), "allowed 3");
  EXPECT_EQ(world.took(5), "allowed 1");
}

// The price: others may be denied what nobody spends, for lease x T and no longer.
TEST(SharedStore, a_lease_keeps_others_out_until_it_has_melted) {
  SharedWorld world(kOne, {}, 2);
  const core::Rule ten = rule("10/s");
  world.check(ten, "k", 1, {.lease = 10}, 0);
  world.run(1ms);
  const std::size_t denied = world.check(ten, "k", 10, {}, 1);
  world.run(1ms);
  EXPECT_EQ(world.took(denied), "denied for 999000us");
  world.run(999ms);
  const std::size_t allowed = world.check(ten, "k", 10, {}, 1);
  world.run(1ms);
  EXPECT_EQ(world.took(allowed), "allowed 0");
}

// However long it is to last: no process hears of a pause that another has asked for.
TEST(SharedStore, a_lease_lasts_for_a_second_at_most) {
  for (const nanoseconds lease_for : {nanoseconds{300ms}, nanoseconds{1s}, nanoseconds{1h}}) {
    const nanoseconds lasts = std::min<nanoseconds>(lease_for, 1s);
    SharedWorld world(kOne);
    const core::Rule ten = rule("10/h");
    const auto ask = [&] { return world.check(ten, "k", 1, {.lease = 5, .lease_for = lease_for}); };
    ask();
    world.run(lasts - 1ns);
    EXPECT_EQ(world.took(ask()), "allowed 2");
    world.run(1ns);
    ask();
    world.run(1ms);
    EXPECT_EQ(world.asked(), "k 5 | k 5 | back k 3") << lease_for.count();
  }
}

// At most burst + W / T in any span W over all processes, with leases, merging and waits, and without resets.
TEST(SharedStore, leases_of_many_processes_keep_the_promise) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  std::uint64_t leased = 0;
  const unsigned traces = core::Chance::runs(120);
  for (unsigned trace = 0; trace < traces; ++trace) {
    SharedWorld world(kOne, {}, 3);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 3 == 0 ? 500 : 30;
    world.latency = [&] { return std::chrono::microseconds{1 + upto(slow)}; };
    const core::Rule r{
        Quota::make({1, std::chrono::microseconds{5 + upto(200)}}, 1 + static_cast<std::int64_t>(upto(40)))
            .value()};
    std::vector<std::pair<nanoseconds, std::uint64_t>> admitted;
    std::set<std::size_t> by_store;
    world.on_delivered = [&](const Deed& deed, const std::vector<std::size_t>& told) {
      std::size_t here = 0;
      for (const std::size_t id : told) {
        if (here == std::max<std::size_t>(1, deed.times) || !(deed.allowed || deed.times > 0)) break;
        ++here;
        by_store.insert(id);
        if (world.requests[id].told->outcome.decision.allowed())
          admitted.emplace_back(deed.at, world.requests[id].cost.units);
      }
    };
    const std::uint64_t leases[] = {2 + upto(20), 2 + upto(5), 0};
    // No check passes one that waits, came before it, and wants no more.
    world.on_told = [&](std::size_t id) {
      const SharedWorld::Request& request = world.requests[id];
      if (!request.told->outcome.decision.allowed() || request.cost.units == 0) return;
      for (std::size_t before = 1; before < id; ++before) {
        const SharedWorld::Request& other = world.requests[before];
        if (other.told || other.process != request.process || other.cost.units == 0) continue;
        EXPECT_GT(other.cost.units, request.cost.units) << id << " was let past " << before;
      }
    };
    const std::uint64_t pause = upto(9) * static_cast<std::uint64_t>(r.quota.emission_interval() / 1us);
    for (int i = 0; i < 150; ++i) {
      world.run(std::chrono::microseconds{random() % 3 == 0 ? upto(pause) : 0});
      const std::size_t process = upto(2);
      world.check(r, "k", random() % 4 == 0 ? upto(3) : 1,
                  {.lease = leases[process], .merge = trace % 2 == 0}, process);
    }
    world.run(100ms);
    world.expect_all_told();
    for (std::size_t id = 1; id < world.requests.size(); ++id) {
      const SharedWorld::Request& request = world.requests[id];
      ASSERT_EQ(request.told->outcome.cause, Cause::none);
      if (request.told->outcome.decision.allowed() && !by_store.contains(id))
        admitted.emplace_back(request.told->at, request.cost.units);
    }
    std::sort(admitted.begin(), admitted.end());
    const nanoseconds T = r.quota.emission_interval();
    nanoseconds sum{0}, last{0};
    for (const auto& [at, units] : admitted) {
      sum = std::max(nanoseconds{0}, sum - (at - last)) + T * static_cast<std::int64_t>(units);
      last = at;
      ASSERT_LE(sum, T * r.quota.burst()) << "trace " << trace;
    }
    for (std::size_t i = 0; i < 3; ++i) leased += world.store(i).counters().leased;
  }
  EXPECT_GT(leased, traces * 2U);
}

// ------------------------------------------------------------------------------------ requests of several
// checks

std::vector<Limit> leased(std::uint64_t lease_of_a, std::uint64_t lease_of_b) {
  return {{.rule = rule("20/100s"), .key = "a", .cost = Cost{1}, .lease = lease_of_a},
          {.rule = rule("10/100s"), .key = "b", .cost = Cost{1}, .lease = lease_of_b}};
}

// Each lease that is missing is asked for once, beside the request; then nothing is asked until one is spent.
TEST(SharedStore, several_checks_are_decided_by_leases_when_each_has_one) {
  SharedWorld world(kOne);
  std::vector<std::size_t> ids;
  for (int i = 0; i < 2; ++i) ids.push_back(world.check_all(leased(4, 3)));
  world.run(1ms);
  EXPECT_EQ(world.asked(), "a + b | a 4 | b 3 | a + b");
  for (int i = 0; i < 2; ++i) ids.push_back(world.check_all(leased(4, 3)));
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.took(ids[2]), "by 1: allowed 1");
  EXPECT_EQ(world.took(ids[3]), "by 1: allowed 0");
  EXPECT_EQ(world.requests[ids[3]].told->source, Source::leased);
  EXPECT_EQ(world.store().counters().leased, 2U);
  // One unit of the lease of b has begun to melt; what is left of it goes back when there is another.
  ids.push_back(world.check_all(leased(4, 3)));
  world.run(1ms);
  EXPECT_EQ(world.asked(), "a + b | b 3 | back b");
  world.expect_all_told();
}

TEST(SharedStore, several_checks_of_which_one_has_no_lease_are_asked_for) {
  SharedWorld world(kOne);
  for (int i = 0; i < 3; ++i) {
    world.check_all(leased(4, 0));
    world.run(1ms);
  }
  EXPECT_EQ(world.asked(), "a + b | a + b | a + b");
  EXPECT_EQ(world.store().counters().leased, 0U);
}

// Several loops of one process divide what a limit leases.
TEST(SharedStore, what_is_leased_is_divided_among_the_stores_of_a_process) {
  Habits habits;
  habits.lease_parts = 4;
  SharedWorld world(kOne, habits);
  world.check(rule("20/100s"), "k", 1, {.lease = 12});
  world.check(rule("20/100s"), "l", 1, {.lease = 7});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 3 | l");
}

// Processes that lease and such that do not, requests of one check and of two: no limit is ever passed.
TEST(SharedStore, with_leases_for_several_checks_no_span_holds_more) {
  std::mt19937_64 random(seed());
  std::uint64_t spent = 0;
  const unsigned traces = core::Chance::runs(20);
  for (unsigned trace = 0; trace < traces; ++trace) {
    SharedWorld world(trace % 2 == 0 ? kOne : kCluster, {}, 3);
    const core::Rule of_a = rule("200/s burst 20"), of_b = rule("100/s burst 10");
    std::map<std::string, std::vector<std::pair<nanoseconds, std::int64_t>>> admitted;
    world.on_told = [&](std::size_t id) {
      const SharedWorld::Request& request = world.requests[id];
      const bool allowed = request.told->outcome.decision.allowed();
      EXPECT_NE(request.told->source, Source::fallback);
      if (!allowed) return;
      if (request.limits.empty()) admitted[request.key].emplace_back(world.now, 1);
      for (const Limit& limit : request.limits)
        admitted[limit.key].emplace_back(world.now, static_cast<std::int64_t>(limit.cost.units));
    };
    for (int i = 0; i < 400; ++i) {
      const std::size_t process = random() % 3;
      const std::uint64_t lease = process == 2 ? 0 : 5;
      if (random() % 4 == 0) {
        world.check(of_a, "a", 1, {.lease = lease}, process);
      } else {
        world.check_all({{.rule = of_a, .key = "a", .cost = Cost{1}, .lease = lease},
                         {.rule = of_b, .key = "b", .cost = Cost{1 + random() % 2}, .lease = lease}},
                        50ms, process);
      }
      world.run(std::chrono::microseconds{random() % 8'000});
    }
    world.run(100ms);
    world.expect_all_told();
    for (const auto& [key, all] : admitted) {
      const core::Rule& of = key == "a" ? of_a : of_b;
      const nanoseconds T = of.quota.emission_interval();
      nanoseconds level{0};
      nanoseconds last = all.front().first;
      for (const auto& [at, units] : all) {
        level = std::max(nanoseconds{0}, level - (at - last)) + T * units;
        last = at;
        // What was decided earlier may be told as much later as an answer takes.
        ASSERT_LE(level, T * of.quota.burst() + 200us) << key << " in trace " << trace;
      }
    }
    for (std::size_t process = 0; process < 3; ++process) spent += world.store(process).counters().leased;
  }
  EXPECT_GT(spent, traces * 2U);
}

}  // namespace
}  // namespace weir::redis
