// A store that pauses: the fallback continues from what the store has last said of a key.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// What is left when the store falls silent is what the fallback has: in units, of a limit of which this
// process may admit a share, and whatever the algorithm.
TEST(SharedStore, the_fallback_begins_with_what_the_store_has_left) {
  struct Row {
    const char* what;
    const char* of;
    std::uint64_t spent;
    double share;
    const char* expected;
    OnStoreError on_error = OnStoreError::local;
  };
  const std::vector<Row> rows = {
      {"nothing", "1/100s burst 20", 20, 1, "denied for 99949"},
      {"something", "1/100s burst 20", 15, 1, "allowed 4"},
      {"never asked", "1/100s burst 20", 0, 1, "allowed 19"},
      {"nothing of a quarter", "1/100s burst 20", 20, 0.25, "denied for 399949"},
      {"half of a quarter", "1/100s burst 20", 10, 0.25, "allowed 1"},
      {"a rate that is shared too", "4/400s burst 20", 20, 0.25, "denied for 399949"},
      {"half of it", "4/400s burst 20", 10, 0.25, "allowed 1"},
      {"a burst that cannot be shared", "1/100s burst 1", 1, 0.25, "denied for 399949"},
      {"a window", "20/2000s algorithm=fixed_window", 15, 1, "allowed 4"},
      {"a log", "20/2000s algorithm=sliding_window_log", 15, 1, "allowed 4"},
      {"a counter", "20/2000s algorithm=sliding_window_counter", 20, 1, "denied for 99949"},
      {"always yes", "1/100s burst 20", 20, 1, "allowed 20", OnStoreError::allow},
      {"always no", "1/100s burst 20", 0, 1, "denied for 1000000us", OnStoreError::deny},
  };
  for (const Row& row : rows) {
    Habits habits;
    habits.local_share = row.share;
    habits.on_error = row.on_error;
    habits.remember_denials = false;
    SharedWorld world(kOne, habits);
    if (row.spent > 0) world.check(rule(row.of), "k", row.spent);
    world.run(1ms);
    world.fate = [](const Deed&) { return kNothing; };
    const std::size_t id = world.check(rule(row.of), "k");
    world.run(100ms);
    EXPECT_TRUE(world.took(id).starts_with(row.expected)) << row.what << ": " << world.took(id);
    EXPECT_TRUE(world.took(id).ends_with("(timeout)")) << row.what << ": " << world.took(id);
  }
}

// Merged, leased, and several at once: what their answers say was charged is owed here too; what was not
// charged is not.
TEST(SharedStore, every_answer_leaves_its_debt_to_the_fallback) {
  constexpr const char* kSlow = "1/100s burst 20";
  const auto left_after = [&](const char* key, const std::function<void(SharedWorld&)>& asks) {
    SharedWorld world(kOne);
    asks(world);
    world.run(5ms);
    world.fate = [](const Deed&) { return kNothing; };
    const std::size_t id = world.check(rule(kSlow), key, 0);
    world.run(100ms);
    return world.took(id);
  };
  EXPECT_EQ(left_after("k",
                       [&](SharedWorld& world) {
                         for (int i = 0; i < 5; ++i) world.check(rule(kSlow), "k", 1, {.merge = true});
                       }),
            "allowed 15 (timeout)");
  EXPECT_EQ(left_after("k", [&](SharedWorld& world) { world.check(rule(kSlow), "k", 1, {.lease = 8}); }),
            "allowed 12 (timeout)");
  const auto both = limits("k", kSlow, 4, "l", kSlow, 7);
  EXPECT_EQ(left_after("k", [&](SharedWorld& world) { world.check_all(both); }), "allowed 16 (timeout)");
  EXPECT_EQ(left_after("l", [&](SharedWorld& world) { world.check_all(both); }), "allowed 13 (timeout)");
  // Refused by the second: of the first nothing was charged.
  const auto refused = limits("k", kSlow, 4, "l", kSlow, 18);
  EXPECT_EQ(left_after("k",
                       [&](SharedWorld& world) {
                         world.check(rule(kSlow), "l", 7);
                         world.run(1ms);
                         world.check_all(refused);
                       }),
            "allowed 20 (timeout)");
  EXPECT_EQ(left_after("k",
                       [&](SharedWorld& world) {
                         world.redis.owe("k", rule("1/100s"), world.now + 500s);
                         world.check(rule(kSlow), "k", 0);
                       }),
            "allowed 15 (timeout)");
}

// What was booked ahead is owed here too, whether this process booked it or was only denied for it: not a
// unit more is handed out until it has drained. `booked` is beyond the burst.
TEST(SharedStore, the_fallback_hands_out_nothing_that_was_booked_ahead) {
  for (const double share : {1.0, 0.25}) {
    Habits habits;
    habits.local_share = share;
    habits.remember_denials = false;
    SharedWorld world(kOne, habits);
    const core::Rule of = rule("100/s burst 100");
    const nanoseconds T = of.quota.emission_interval();
    constexpr nanoseconds kBooked = 5s;
    world.redis.owe("k", of, world.now + T * 100 + kBooked);
    world.check(of, "k");
    world.run(1ms);
    world.fate = [](const Deed&) { return kNothing; };
    std::int64_t granted = 0;
    const auto ask_for = [&](nanoseconds time) {
      for (const nanoseconds end = world.now + time; world.now < end; world.run(5ms)) {
        const std::size_t id = world.check(of, "k", 1, {.deadline = 1ms});
        world.run(1ms);
        granted += world.requests[id].told->outcome.decision.allowed() ? 1 : 0;
      }
    };
    ask_for(4900ms);
    EXPECT_EQ(granted, 0) << share;
    ask_for(1200ms);
    EXPECT_NEAR(static_cast<double>(granted), 110 * share, 12) << share;
  }
}

// Of a limit that has changed meanwhile the fallback knows the units; of a clock that has stepped no more
// than the whole burst.
TEST(SharedStore, the_fallback_owes_no_more_than_can_be_owed_and_no_fewer_units) {
  SharedWorld world(kOne);
  world.check(rule("1000/s burst 1000"), "k", 1000);
  world.check(rule("1/s burst 1000"), "k", 1);  // it drains at its former pace
  world.run(1ms);
  world.check(rule("1/100s burst 2"), "stepped", 1);
  world.run(1ms);
  world.redis.ahead -= 24h;
  world.check(rule("1/100s burst 2"), "stepped", 1);
  world.run(1ms);
  world.fate = [](const Deed&) { return kNothing; };
  const std::size_t k = world.check(rule("1/s burst 1000"), "k", 5);
  const std::size_t stepped = world.check(rule("1/100s burst 2"), "stepped", 0);
  world.run(100ms);
  EXPECT_TRUE(world.took(k).starts_with("denied for 4")) << world.took(k);
  const Decision& owed = world.requests[stepped].told->outcome.decision;
  EXPECT_EQ(owed.remaining, 0);
  EXPECT_LE(owed.reset_after, 200s);
}

// A reset forgets here too: when it was done, and then whatever was answered from what it has forgotten.
TEST(SharedStore, a_reset_forgets_the_fallbacks_debt) {
  constexpr const char* kSlow = "1/100s burst 20";
  for (const bool done : {true, false}) {
    SharedWorld world(kOne);
    world.check(rule(kSlow), "k", 15);
    world.run(1ms);
    if (!done) world.fate = [](const Deed&) { return says("-OOM no"); };
    world.reset("k");
    world.run(1ms);
    world.fate = [](const Deed&) { return kNothing; };
    const std::size_t id = world.check(rule(kSlow), "k", 0);
    world.run(100ms);
    EXPECT_EQ(world.took(id), done ? "allowed 20 (timeout)" : "allowed 5 (timeout)");
  }
  SharedWorld world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  nanoseconds way = 100us;
  world.latency = [&way] { return way; };
  world.fate = [&way](const Deed& deed) {
    way = deed.process == 0 ? 10ms : 100us;  // its answer
    return Fate{};
  };
  world.check(rule(kSlow), "k", 15);
  world.run(150us);
  way = 100us;
  world.reset("k", 1);
  world.run(20ms);
  world.fate = [](const Deed&) { return kNothing; };
  const std::size_t id = world.check(rule(kSlow), "k", 0);
  world.run(100ms);
  EXPECT_EQ(world.took(id), "allowed 20 (timeout)");
}

// ------------------------------------------------------------------------------------------ random pauses

struct Admission {
  nanoseconds at;
  std::int64_t units;  // 0: none
  bool by_store;
  nanoseconds owed;  // as the store has said
};

// A store that pauses for 5 to 500 ms at random, and what was told of one key, in its order. Without
// carry-over the fallback counts for itself, as the canary: from rest.
std::vector<Admission> told_through_pauses(std::mt19937_64& random, const core::Rule& of, bool saturated,
                                           bool canary) {
  const auto ms = [&](std::uint64_t least, std::uint64_t most) {
    return nanoseconds{static_cast<std::int64_t>((least + random() % (most - least + 1)) * 1'000'000)};
  };
  Habits habits;
  habits.remember_denials = random() % 2 == 0;
  if (canary) habits.on_error = OnStoreError::deny;
  SharedWorld world(kOne, habits);
  nanoseconds pause_ends{0};
  world.latency = [&] { return std::max(nanoseconds{0}, pause_ends - world.now) + 100us; };
  std::vector<Admission> told;
  store::Table alone(store::Table::kLeastBytes, WhenFull::deny);
  world.on_told = [&](std::size_t id) {
    const SharedWorld::Told& its = *world.requests[id].told;
    if (its.source == Source::remembered) return;
    Decision decision = its.outcome.decision;
    const bool by_store = its.source == Source::store;
    if (canary && !by_store)
      decision = alone.check(alone.locate("k"), {.rule = of}, world.requests[id].cost, world.now, world.now);
    told.push_back({world.now,
                    decision.allowed() ? static_cast<std::int64_t>(world.requests[id].cost.units) : 0,
                    by_store, decision.reset_after});
  };
  const nanoseconds end = world.now + 10s;
  nanoseconds next_pause = world.now + ms(50, 500);
  while (world.now < end) {
    if (world.now >= next_pause) {
      pause_ends = world.now + ms(5, 500);
      next_pause = pause_ends + ms(50, 1000);
    }
    if (saturated) {
      world.check(of, "k");
      world.run(ms(1, 3));
    } else {
      for (std::uint64_t i = random() % 15; i > 0; --i) world.check(of, "k", 1 + random() % 3);
      world.run(ms(1, 150));
    }
  }
  world.run(1s);
  return told;
}

// By how many units the fallback has gone above what the store would have admitted in its place: during one
// pause, what its last answer left, and what has drained since.
double most_above_what_was_left(const std::vector<Admission>& told, const core::Rule& of) {
  const auto T = static_cast<double>(of.quota.emission_interval().count());
  const double full = static_cast<double>(of.quota.burst()) * T;
  double most = -full;
  double admitted = 0;
  Admission last{told.front().at, 0, true, nanoseconds{0}};
  for (const Admission& each : told) {
    if (each.by_store) {
      admitted = 0;
      last = each;
    } else if (each.units > 0) {
      admitted += static_cast<double>(each.units) * T;
      const double room =
          full - static_cast<double>(last.owed.count()) + static_cast<double>((each.at - last.at).count());
      most = std::max(most, admitted - room);
    }
  }
  return most / T;
}

// By how many units a span has gone above burst + (W + P) / T + n, P being the time during which the store
// was not heard in it and n how often that was.
double most_above_the_bound(const std::vector<Admission>& told, const core::Rule& of) {
  const auto T = static_cast<double>(of.quota.emission_interval().count());
  double level = 0, most = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (i > 0) {
      // Unheard: between two that the store has told, with one by the fallback between them.
      const bool unheard = !told[i].by_store || !told[i - 1].by_store;
      const auto elapsed = static_cast<double>((told[i].at - told[i - 1].at).count());
      level -= unheard ? 2 * elapsed : elapsed;
      if (told[i - 1].by_store && !told[i].by_store) level -= T;
      level = std::max(0.0, level);
    }
    level += static_cast<double>(told[i].units) * T;
    most = std::max(most, level);
  }
  return most / T - static_cast<double>(of.quota.burst());
}

TEST(SharedStore, a_pause_adds_no_more_than_the_store_would_have_admitted_meanwhile) {
  std::mt19937_64 random(seed());
  const core::Rule of = rule("50/s burst 10");
  const unsigned traces = core::Chance::runs(16);
  unsigned caught = 0;
  for (unsigned trace = 0; trace < traces; ++trace) {
    EXPECT_LE(most_above_what_was_left(told_through_pauses(random, of, trace % 2 == 0, false), of), 1e-6);
    if (most_above_what_was_left(told_through_pauses(random, of, trace % 2 == 0, true), of) > 1) ++caught;
  }
  EXPECT_GT(caught, traces / 2);
}

// A caller that never pauses itself.
TEST(SharedStore, pauses_at_random_keep_the_bound_that_the_docs_state) {
  std::mt19937_64 random(seed());
  const core::Rule of = rule("50/s burst 10");
  const unsigned traces = core::Chance::runs(16);
  unsigned caught = 0;
  for (unsigned trace = 0; trace < traces; ++trace) {
    // A round trip is less than the time of a unit.
    EXPECT_LE(most_above_the_bound(told_through_pauses(random, of, true, false), of), 1);
    if (most_above_the_bound(told_through_pauses(random, of, true, true), of) > 1) ++caught;
  }
  EXPECT_GT(caught, traces / 2);
}

}  // namespace
}  // namespace weir::redis
