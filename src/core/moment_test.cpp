#include "core/moment.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;

Rule rule_of(std::int64_t burst, std::int64_t interval, std::int64_t kept = 0) {
  Rule rule{Quota::make({1, nanoseconds{interval}}, burst).value()};
  rule.kept = nanoseconds{kept};
  return rule;
}

std::string text_of(const Moment& moment) {
  return std::string(moment.granted ? "granted, waits " : "denied for ") +
         std::to_string(moment.wait.count()) + " by " + std::to_string(moment.by);
}

// 1 unit each 10 ns, burst 3; the time is 1000.
TEST(Moment, of_one_limit) {
  struct Row {
    std::uint64_t tat, cost;
    std::int64_t max_wait;
    const char* told;
  };
  const Rule rule = rule_of(3, 10);
  for (const auto& [tat, cost, max_wait, told] : {
           Row{0, 3, 0, "granted, waits 0 by 0"},
           Row{1010, 2, 0, "granted, waits 0 by 0"},
           Row{1010, 3, 0, "denied for 10 by 0"},
           Row{1010, 3, 9, "denied for 1 by 0"},
           Row{1010, 3, 10, "granted, waits 10 by 0"},
           Row{1010, 3, 1000, "granted, waits 10 by 0"},
           Row{1030, 0, 0, "granted, waits 0 by 0"},
           Row{0, 4, 1000, "denied for -1 by 0"},
       }) {
    const TwoWords state{tat, 10};
    EXPECT_EQ(text_of(moment(decide(rule, state, nanoseconds{1000}, Cost{cost}), nanoseconds{max_wait})),
              told);
    const Demand one[] = {{.rule = &rule, .state = state, .cost = Cost{cost}}};
    EXPECT_EQ(text_of(moment(one, nanoseconds{1000}, nanoseconds{max_wait})), told) << "of a list of one";
  }
}

// The user's limit has to be waited for until 1030. The tenant's has 1 unit each 2 ns and is idle: 1 unit
// that waits for 30 ns lifts it by 30, and it has burst x 2 - 2 to spare.
TEST(Moment, of_several_limits) {
  const Rule user = rule_of(1, 30);
  struct Row {
    std::int64_t burst, kept, lowest_kept;
    std::uint16_t waits_with;
    const char* told;
  };
  for (const auto& [burst, kept, lowest_kept, waits_with, told] : {
           Row{16, 0, 0, 0, "granted, waits 30 by 0"},
           Row{15, 0, 0, 0, "denied for 2 by 1"},
           Row{16, 0, 1, 0, "denied for 1 by 1"},
           Row{1, 0, 0, 0, "denied for 30 by 1"},
           Row{1, 0, 0, 1, "granted, waits 30 by 0"},
           Row{1, 0, 0, 2, "denied for 30 by 1"},
           Row{100, 2, 2, 0, "denied for 30 by 0"},
       }) {
    const Rule tenant = rule_of(burst, 2, kept);
    const Demand demands[] = {{.rule = &user, .state = {1030, 30}, .cost = Cost{1}},
                              {.rule = &tenant,
                               .cost = Cost{1},
                               .waits_with = waits_with,
                               .lowest_kept = nanoseconds{lowest_kept}}};
    const nanoseconds max_wait{kept == 0 ? 30 : 0};
    EXPECT_EQ(text_of(moment(demands, nanoseconds{1000}, max_wait)), told) << burst << " " << lowest_kept;
    EXPECT_EQ(text_of(moment(demands, nanoseconds{1000}, nanoseconds{kept == 0 ? 30 : 1000})), told)
        << "who leaves something free does not wait";
  }
}

TEST(Moment, a_guarantee_lets_wait_and_is_lifted_itself) {
  const Rule user = rule_of(1, 30);
  const Rule parent = rule_of(100, 2, 20);
  struct Row {
    std::uint64_t owed_by_the_child;
    std::int64_t burst_of_the_child;
    const char* told;
  };
  for (const auto& [owed, burst, told] : {
           Row{0, 11, "granted, waits 30 by 0"}, Row{0, 10, "denied for 3 by 2"},  // 27 ns to spare
           Row{28, 10, "denied for 30 by 0"}  // not inside: what is to be left free does not wait
       }) {
    const Rule guarantee = rule_of(burst, 3);
    const Demand demands[] = {
        {.rule = &user, .state = {1030, 30}, .cost = Cost{1}},
        {.rule = &guarantee, .state = {1000 + owed, 3}, .cost = Cost{1}, .shadow = true},
        {.rule = &parent, .cost = Cost{1}, .inside = 1}};
    EXPECT_EQ(text_of(moment(demands, nanoseconds{1000}, nanoseconds{1000})), told) << owed << " " << burst;
  }
}

TEST(Moment, beyond_the_end_of_the_clock_there_is_none) {
  const Rule rule = rule_of(1, std::int64_t{1} << 62);
  const nanoseconds now = nanoseconds::max() - nanoseconds{1000};
  const Demand demands[] = {{.rule = &rule,
                             .state = {static_cast<std::uint64_t>(now.count()) + (1ULL << 62), 1ULL << 62},
                             .cost = Cost{1}}};
  EXPECT_EQ(text_of(moment(demands, now, nanoseconds{5})),
            "denied for " + std::to_string((std::int64_t{1} << 62) - 5) + " by 0");
}

// By the definition, a nanosecond after the other: the first time at which all allow, if it is soon enough
// and lifts no limit by more than what all of its burst but this cost and what the lowest class keeps comes
// to.
std::optional<std::int64_t> by_definition(const std::vector<Demand>& demands, std::int64_t now,
                                          std::int64_t max_wait) {
  const auto allows = [&](const Demand& demand, std::int64_t at) {
    return decide(*demand.rule, demand.state, nanoseconds{at}, demand.cost).verdict == Verdict::allowed;
  };
  for (std::int64_t at = now; at <= now + max_wait; ++at) {
    bool all = true;
    bool spares = true;
    for (const Demand& demand : demands) {
      all = all && allows(demand, at);
      const auto interval = demand.rule->quota.emission_interval().count();
      const std::int64_t room =
          (demand.rule->quota.burst() - static_cast<std::int64_t>(demand.cost.units)) * interval -
          demand.lowest_kept.count();
      const bool is_lifted = demand.cost.units != 0 && demand.state.until < static_cast<std::uint64_t>(at);
      spares = spares && (!is_lifted || at == now || at - now <= std::max<std::int64_t>(room, 0));
      const bool counts = demand.cost.units != 0 && demand.state.until > static_cast<std::uint64_t>(now);
      spares = spares && (!counts || at == now || static_cast<std::int64_t>(demand.state.word) >= interval);
    }
    if (all) return spares ? std::optional(at - now) : std::nullopt;
  }
  return std::nullopt;
}

TEST(Moment, is_the_first_at_which_all_limits_allow_and_its_wait_is_enough) {
  Chance chance;
  int granted = 0, waited = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Rule> rules;
    const auto count = static_cast<std::size_t>(1 + chance.up_to(2));
    for (std::size_t i = 0; i < count; ++i)
      rules.push_back(rule_of(1 + chance.up_to(8), 1 + chance.up_to(6)));
    const std::int64_t now = 1000;
    std::vector<Demand> demands;
    for (const Rule& rule : rules) {
      const std::int64_t full = rule.quota.burst() * rule.quota.emission_interval().count();
      demands.push_back({.rule = &rule,
                         .state = {static_cast<std::uint64_t>(now + chance.up_to(2 * full)),
                                   static_cast<std::uint64_t>(chance.up_to(3) == 0
                                                                  ? 1 + chance.up_to(6)
                                                                  : rule.quota.emission_interval().count())},
                         .cost = Cost{static_cast<std::uint64_t>(chance.up_to(rule.quota.burst()))},
                         .lowest_kept = nanoseconds{chance.up_to(full / 2)}});
    }
    const std::int64_t max_wait = chance.up_to(60);
    const Moment told = moment(demands, nanoseconds{now}, nanoseconds{max_wait});
    const auto should = by_definition(demands, now, max_wait);
    ASSERT_EQ(told.granted, should.has_value()) << "round " << round;
    if (told.granted) {
      ASSERT_EQ(told.wait.count(), *should) << "round " << round;
      ++granted;
      waited += told.wait.count() > 0 ? 1 : 0;
      continue;
    }
    // What is told is the shortest time after which it is granted.
    ASSERT_GT(told.wait.count(), 0) << "round " << round;
    EXPECT_TRUE(moment(demands, nanoseconds{now} + told.wait, nanoseconds{max_wait}).granted) << round;
    EXPECT_FALSE(
        moment(demands, nanoseconds{now} + told.wait - nanoseconds{1}, nanoseconds{max_wait}).granted)
        << round;
  }
  EXPECT_GT(granted, 1000);
  EXPECT_GT(waited, 1000);
}

}  // namespace
}  // namespace weir::core
