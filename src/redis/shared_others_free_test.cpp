// Charges that leave others free, in one slot and in several, and while nodes do not answer.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// A key of that node of the cluster.
std::string key_on(const std::string& host) {
  std::string key = "k0";
  for (int i = 1; host_of(key) != host; ++i) key = "k" + std::to_string(i);
  return key;
}

struct OfThree {
  explicit OfThree(OnStoreError on_error = OnStoreError::local) {
    for (std::size_t i = 0; i < 3; ++i) {
      limits[i].on_store_error = on_error;
      checks[i] = {.limit = &limits[i], .key = keys[i], .cost = Cost{1}};
    }
    terms.others_free.emplace();
    request.checks = checks;
    request.verb = store::Verb::charge;
    request.charge = &terms;
    request.patience = 50ms;
    request.context = this;
    request.on_answer = [](store::Request& asked) { ++static_cast<OfThree*>(asked.context)->answers; };
  }
  std::string ask(SharedWorld& world) {
    world.submit(request);
    world.run(60ms);
    EXPECT_EQ(answers, 1);
    answers = 0;
    return said();
  }
  std::string said() const {
    if (request.fault != Fault::none) return request.fault == Fault::foreign_value ? "foreign" : "down";
    std::string text = request.source == Source::fallback ? "here:" : "there:";
    for (const store::Check& each : checks)
      text += (each.decision.allowed() ? " " : " over ") + std::to_string(each.decision.remaining);
    return text;
  }

  std::array<std::string, 3> keys{key_on("a"), key_on("b"), key_on("c")};
  std::array<store::Limit, 3> limits{{{.rule = rule("1/h")}, {.rule = rule("10/h")}, {.rule = rule("10/h")}}};
  std::array<store::Check, 3> checks{};
  store::ChargeTerms terms;
  store::Request request;
  int answers = 0;
};

TEST(SharedOthersFree, keys_of_one_slot_are_one_call_and_those_of_several_are_asked_before_they_are_charged) {
  for (const bool cluster : {false, true}) {
    SharedWorld world(cluster ? kCluster : kOne);
    OfThree three;
    three.ask(world);  // which loads the script
    world.asked();
    EXPECT_EQ(three.ask(world), "there: over 0 9 9");
    const std::string& a = three.keys[0];
    const std::string all = "charge " + a + " + " + three.keys[1] + " + " + three.keys[2];
    const std::string apart =
        "charge " + a + " | charge " + three.keys[1] + " | charge " + three.keys[2] + " | charge " + a;
    EXPECT_EQ(world.asked(), cluster ? apart : all);
  }
}

// Asked, it owed a unit; when it is charged, that has drained.
TEST(SharedOthersFree, what_was_over_when_it_was_asked_is_told_so_though_time_has_passed) {
  SharedWorld world(kCluster);
  OfThree three;
  three.limits[0].rule = rule("1/100ms");
  three.request.patience = 200ms;
  three.ask(world);
  world.run(1s);
  world.latency = [] { return 15ms; };
  world.submit(three.request);
  world.run(110ms);  // it has been charged at 45 ms
  EXPECT_EQ(three.said(), "there: 0 8 8");
  world.submit(three.request);
  world.run(110ms);
  EXPECT_EQ(three.said(), "there: over 0 8 8");
  EXPECT_EQ(three.answers, 2);
}

TEST(SharedOthersFree, while_a_node_is_silent_all_is_decided_here_and_nothing_is_charged_there) {
  SharedWorld world(kCluster);
  OfThree three;
  EXPECT_EQ(three.ask(world), "there: 0 9 9");
  world.fate = [](const Deed& deed) {
    return deed.name == "charge" && host_of(deed.parts[0].key) == "c" ? kNothing : Fate{};
  };
  EXPECT_EQ(three.ask(world), "here: over 0 9 9");
  world.fate = [](const Deed&) { return Fate{}; };
  world.run(10s);
  EXPECT_EQ(world.redis.owed(three.keys[0], three.limits[0].rule, world.now), 1);
  EXPECT_EQ(world.redis.owed(three.keys[1], three.limits[1].rule, world.now), 1);
}

TEST(SharedOthersFree, a_charge_that_is_not_answered_is_decided_here) {
  SharedWorld world(kCluster);
  OfThree three;
  int calls = 0;
  three.ask(world);
  world.fate = [&](const Deed& deed) { return deed.name == "charge" && ++calls > 3 ? kNothing : Fate{}; };
  EXPECT_EQ(three.ask(world), "here: over 0 9 9") << "the others are what the store has said";
  EXPECT_EQ(calls, 4);
}

TEST(SharedOthersFree, what_does_not_count_here_is_decided_by_what_its_limit_says) {
  struct Row {
    OnStoreError first, others;
    const char* said;
  };
  using enum OnStoreError;
  for (const Row& row : {Row{allow, allow, "here: 1 10 10"}, Row{deny, deny, "here: over 0 over 0 over 0"},
                         Row{deny, local, "here: over 0 10 10"}, Row{allow, local, "here: 1 9 9"}}) {
    SharedWorld world(kCluster);
    OfThree three(row.others);
    three.limits[0].on_store_error = row.first;
    world.fate = [](const Deed& deed) { return deed.name == "charge" ? kNothing : Fate{}; };
    EXPECT_EQ(three.ask(world), row.said);
  }
}

TEST(SharedOthersFree, a_foreign_value_is_a_fault) {
  SharedWorld world(kCluster);
  OfThree three(OnStoreError::allow);
  world.fate = [](const Deed& deed) {
    return deed.name == "charge" ? says("-WRONGTYPE what is this\r\n") : Fate{};
  };
  EXPECT_EQ(three.ask(world), "foreign");
  EXPECT_FALSE(three.request.charged);
}

TEST(SharedOthersFree, one_that_is_cancelled_is_not_charged_any_more) {
  SharedWorld world(kCluster);
  OfThree three;
  three.ask(world);
  world.asked();
  world.submit(three.request);
  world.store().cancel(three.request);
  world.run(1s);
  EXPECT_EQ(three.answers, 0);
  EXPECT_EQ(world.asked(),
            "charge " + three.keys[0] + " | charge " + three.keys[1] + " | charge " + three.keys[2]);
}

}  // namespace
}  // namespace weir::redis
