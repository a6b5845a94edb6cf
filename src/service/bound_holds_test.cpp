#include "service/bound_holds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

// One that answers when it is told to, or at once.
struct LateStore final : store::Store {
  explicit LateStore(store::Store& its) : other(its) {}
  void submit(std::span<Request* const> batch, store::Arrival when) override {
    for (Request* const each : batch) {
      ++asked;
      if (!is_late) {
        other.submit({&each, 1}, when);
        continue;
      }
      each->state = Request::State::submitted;
      late.push_back(each);
    }
    most = std::max(most, late.size());
  }
  void cancel(Request& pending) override {
    pending.state = Request::State::idle;
    std::erase(late, &pending);
  }
  void give_back(const Request&, nanoseconds) override {}
  void answer_one(nanoseconds now) {
    Request* const next = late.front();
    late.erase(late.begin());
    other.submit({&next, 1}, {now, now});
    next->on_answer(*next);
  }

  store::Store& other;
  bool is_late = false;
  std::vector<Request*> late;
  std::size_t most = 0;
  std::size_t asked = 0;
};

struct Ending {
  std::string reserve(nanoseconds max_wait = 0s, const store::Limit* of = nullptr) {
    store::Check check{.limit = of != nullptr ? of : &slots, .key = "k", .cost = Cost{1}};
    store::ReservationTerms terms{.max_wait = max_wait, .hold = 60s};
    Request asked{.checks = {&check, 1}, .verb = Verb::reserve};
    asked.reservation = &terms;
    Request* const one = &asked;
    embedded.submit({&one, 1}, {now, now});
    EXPECT_EQ(asked.why, "");
    return terms.id;
  }
  bool is_open(const std::string& id) {
    store::ReservationTerms terms{.id = id};
    Request asked{.verb = Verb::moment};
    asked.reservation = &terms;
    Request* const one = &asked;
    embedded.submit({&one, 1}, {now, now});
    return terms.wait.count() >= 0;
  }
  void run() {
    for (; soon > 0; ++turns) {
      soon = 0;
      ender.advance();
    }
  }

  nanoseconds now = 1000s;
  store::EmbeddedStore embedded{16_MiB, WhenFull::deny, {1, 2}};
  LateStore late{embedded};
  int soon = 0;
  int turns = 0;
  HoldEnder ender{late, [this] { return now; }, [this] { ++soon; }};
  const store::Limit slots{.rule = *core::Rule::slots("20000")};
  const store::Limit rate{.rule = core::Rule{Quota::per_second(1)}};
};

TEST(BoundHolds, end_with_their_connection_a_few_at_a_time) {
  Ending world;
  std::vector<std::string> ids;
  {
    BoundHolds holds(world.ender);
    for (int i = 0; i < 1000; ++i) holds.add(ids.emplace_back(world.reserve()), false, 60s, world.now);
  }
  EXPECT_TRUE(world.is_open(ids.front())) << "not at once: the loop has others";
  EXPECT_FALSE(world.ender.empty());
  world.run();
  EXPECT_GE(world.turns, 1000 / 64);
  EXPECT_TRUE(std::none_of(ids.begin(), ids.end(), [&](const auto& id) { return world.is_open(id); }));
  EXPECT_TRUE(world.ender.empty());
}

TEST(BoundHolds, a_store_that_answers_late_is_asked_a_few_at_a_time) {
  Ending world;
  world.late.is_late = true;
  {
    BoundHolds holds(world.ender);
    for (int i = 0; i < 200; ++i) holds.add(world.reserve(), false, 60s, world.now);
  }
  for (world.run(); !world.late.late.empty(); world.run()) world.late.answer_one(world.now);
  EXPECT_EQ(world.late.most, HoldEnder::kAtOnce);
  EXPECT_EQ(world.late.asked, 200U);
  EXPECT_EQ(world.embedded.reservations().in_flight(world.now)[0], 0U);
}

TEST(BoundHolds, before_its_moment_as_a_cancel_and_after_it_as_a_settlement) {
  Ending world;
  world.reserve(0s, &world.rate);
  const std::string first = world.reserve(10s, &world.rate);
  const std::string second = world.reserve(10s, &world.rate);
  {
    BoundHolds holds(world.ender);
    holds.add(first, true, 61s, world.now);
    holds.add(second, true, 62s, world.now);
    world.now += 1s;  // the first acts
  }
  world.run();
  EXPECT_EQ(world.late.asked, 3U) << "a cancel for each, and a settlement of the first";
  EXPECT_FALSE(world.is_open(first));
  EXPECT_FALSE(world.is_open(second));
  // The moment of the second is free again, and that of the first is not.
  EXPECT_EQ(world.reserve(1s, &world.rate).empty(), false);
}

TEST(BoundHolds, one_that_has_been_settled_is_dropped) {
  Ending world;
  {
    BoundHolds holds(world.ender);
    holds.add("one", false, 60s, world.now);
    holds.add("two", false, 60s, world.now);
    holds.drop("one");
    holds.drop("none");
    EXPECT_EQ(holds.size(), 1U);
  }
  world.run();
  EXPECT_EQ(world.late.asked, 1U);
}

TEST(BoundHolds, those_whose_time_is_over_are_forgotten_as_others_come) {
  Ending world;
  BoundHolds holds(world.ender);
  for (int i = 0; i < 10'000; ++i) {
    holds.add(world.reserve(), false, 60s, world.now);
    world.now += 1s;
  }
  EXPECT_LE(holds.size(), 3 * 60U) << "60 are open";
  EXPECT_GE(holds.size(), 60U);
  EXPECT_LE(world.late.asked, 10'000U) << "each is asked about once";
}

TEST(BoundHolds, one_that_was_extended_is_kept) {
  Ending world;
  const std::string id = world.reserve();
  BoundHolds holds(world.ender);
  holds.add(id, false, 1s, world.now);
  world.now += 2s;
  for (int i = 0; i < 3; ++i) holds.add(std::to_string(i), false, 3600s, world.now);
  EXPECT_EQ(holds.size(), 4U);
  EXPECT_EQ(world.late.asked, 1U);
}

TEST(BoundHolds, an_answer_that_comes_too_late_for_them_is_for_nobody) {
  Ending world;
  world.late.is_late = true;
  {
    BoundHolds holds(world.ender);
    holds.add("a", false, 1s, world.now);
    world.now += 2s;
    holds.add("b", false, 1s, world.now);
  }
  for (world.run(); !world.late.late.empty(); world.run()) world.late.answer_one(world.now);
  EXPECT_TRUE(world.ender.empty());
}

TEST(BoundHolds, have_a_bound_that_counts_those_that_are_asked_for) {
  Ending world;
  BoundHolds holds(world.ender);
  for (std::size_t i = 0; i + 1 < BoundHolds::kMost; ++i) holds.add(std::to_string(i), false, 60s, world.now);
  EXPECT_FALSE(holds.full());
  holds.expect();
  EXPECT_TRUE(holds.full());
  holds.answered();
  EXPECT_FALSE(holds.full());
}

TEST(HoldEnder, ends_what_is_granted_to_nobody) {
  Ending world;
  world.late.is_late = true;
  auto question = std::make_unique<Question>();
  question->room(1)[0].limit = &world.slots;
  question->check.key = "k";
  question->check.cost = Cost{1};
  question->verb = Verb::reserve;
  question->reserve({}, 60s);
  Request* const one = question.get();
  world.late.submit({&one, 1}, {world.now, world.now});
  world.ender.end_when_answered(std::move(question));
  EXPECT_FALSE(world.ender.empty());
  world.late.answer_one(world.now);
  EXPECT_EQ(world.embedded.reservations().in_flight(world.now)[0], 1U);
  world.late.is_late = false;
  world.run();
  EXPECT_EQ(world.embedded.reservations().in_flight(world.now)[0], 0U);
  EXPECT_TRUE(world.ender.empty());
}

}  // namespace
}  // namespace weir::inline v0_1::service
