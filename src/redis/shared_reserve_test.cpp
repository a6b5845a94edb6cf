// Reservations in a shared store: what leaves for it, and what becomes of one whose answer does not come.
#include <gtest/gtest.h>

#include <string>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// One that asks for a key, or for a reservation, and waits for the answer as long as it takes.
struct Booking {
  explicit Booking(store::Verb verb) {
    request.verb = verb;
    request.reservation = &its;
    request.on_answer = [](store::Request&) {};
  }
  std::string ask(SharedWorld& world, nanoseconds time = 100ms) {
    world.submit(request);
    world.run(time);
    if (request.state != store::Request::State::answered) return "nothing yet";
    if (request.fault != Fault::none) return "fault: " + request.why;
    if (request.verb == store::Verb::cancel) return std::to_string(its.given_back) + " back";
    const std::string wait =
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(its.wait).count());
    if (request.verb == store::Verb::settle) return "settled, one more in " + wait + "ms";
    return std::string(request.allowed() ? "granted in " : "denied for ") + wait + "ms" +
           (its.id.empty() ? "" : " with an id") + (request.why.empty() ? "" : " (" + request.why + ")");
  }
  store::Request request;
  store::ReservationTerms its;
};

struct Reserve : Booking {
  Reserve(const std::string& of, std::string its_key, std::uint64_t cost, nanoseconds max_wait,
          nanoseconds hold = 0ns)
      : Booking(store::Verb::reserve), limit{.rule = rule(of)}, key(std::move(its_key)) {
    check = {.limit = &limit, .key = key, .cost = Cost{cost}};
    request.checks = {&check, 1};
    its.max_wait = max_wait;
    its.hold = hold;
  }
  store::Limit limit;
  std::string key;
  store::Check check;
};

struct Undo : Booking {
  Undo(store::Verb verb, const std::string& id, std::optional<std::uint64_t> actual = {}) : Booking(verb) {
    its.id = id;
    its.actual = actual;
  }
};

TEST(SharedReserve, is_one_call_and_so_is_its_end) {
  SharedWorld world(kOne);
  Reserve first("1/10s burst 2", "k", 2, 0s), second("1/10s burst 2", "k", 1, 60s);
  EXPECT_EQ(first.ask(world, 0ms), "nothing yet");
  world.run(1ms);
  EXPECT_EQ(first.request.state, store::Request::State::answered);
  EXPECT_EQ(second.ask(world, 1ms), "granted in 9999ms with an id");
  EXPECT_EQ(world.asked(), "reserve k | reserve k | reserve k");  // the first one has the script loaded
  EXPECT_EQ(Undo(store::Verb::cancel, second.its.id).ask(world), "1 back");
  EXPECT_EQ(Undo(store::Verb::cancel, second.its.id).ask(world), "0 back");
  EXPECT_EQ(world.asked(), "cancel k");  // the second one finds no record
  EXPECT_EQ(world.redis.owed("k", second.limit.rule, world.now), 2);
}

TEST(SharedReserve, what_is_held_is_settled_once) {
  SharedWorld world(kOne);
  Reserve held("1/10s burst 9", "k", 6, 0s, 60s);
  EXPECT_EQ(held.ask(world, 1ms), "granted in 0ms with an id");
  EXPECT_EQ(Undo(store::Verb::settle, held.its.id, 2).ask(world, 1ms), "settled, one more in 0ms");
  EXPECT_EQ(world.redis.owed("k", held.limit.rule, world.now), 2);
  Undo again(store::Verb::settle, held.its.id, 0);
  again.ask(world);
  EXPECT_EQ(again.its.wait, -1ns);
  EXPECT_EQ(world.asked(), "reserve k | reserve k | settle k");
}

// Nobody is told its id, so nobody could: it is taken back.
TEST(SharedReserve, one_whose_answer_comes_too_late_is_taken_back) {
  SharedWorld world(kOne);
  Reserve first("1/10s", "k", 1, 0s);
  EXPECT_EQ(first.ask(world), "granted in 0ms");
  world.asked();
  world.work = [] { return 30ms; };
  world.check(rule("9/s"), "a");
  world.check(rule("9/s"), "b");  // answered after 30 ms: the connection is not silent
  Reserve late("1/10s", "k", 1, 60s);
  EXPECT_EQ(late.ask(world, 51ms), "granted in 9850ms with an id (timeout)") << "by the fallback";
  world.work = [] { return 0ms; };
  world.run(1s);
  EXPECT_EQ(world.asked(), "a | b | reserve k | cancel k");
  EXPECT_EQ(world.redis.owed("k", late.limit.rule, world.now), 1);
  EXPECT_TRUE(world.empty());
}

// A hold that acts at once is not cancelled: it would have its slot until its time is over.
TEST(SharedReserve, a_hold_whose_answer_comes_too_late_is_settled_at_nothing) {
  for (const char* const of : {"in_flight=1", "1/10s burst 4"}) {
    SharedWorld world(kOne);
    Reserve first(of, "other", 1, 0s, 60s);  // Redis has the script from then on
    EXPECT_EQ(first.ask(world), "granted in 0ms with an id");
    world.asked();
    world.work = [] { return 30ms; };
    world.check(rule("9/s"), "a");
    world.check(rule("9/s"), "b");
    Reserve late(of, "k", 1, 0s, 60s);
    EXPECT_EQ(late.ask(world, 51ms), "granted in 0ms with an id (timeout)") << "by the fallback";
    world.work = [] { return 0ms; };
    world.run(1s);
    EXPECT_EQ(world.asked(), "a | b | reserve k | cancel k | settle k") << of;
    Reserve next(of, "k", of[0] == 'i' ? 1 : 4, 0s, 60s);
    EXPECT_EQ(next.ask(world), "granted in 0ms with an id") << of;
    EXPECT_TRUE(world.empty());
  }
}

// While the store refuses, the fallback reserves, and its ids mean nothing in the store.
TEST(SharedReserve, what_the_fallback_has_reserved_it_takes_back) {
  SharedWorld world(kOne);
  world.fate = [](const Deed&) { return says("-OOM no"); };
  Reserve first("1/10s", "k", 1, 0s), second("1/10s", "k", 1, 60s);
  EXPECT_EQ(first.ask(world), "granted in 0ms (oom)");
  EXPECT_EQ(second.ask(world), "granted in 9900ms with an id (oom)");
  world.fate = [](const Deed&) { return Fate{}; };
  world.asked();
  EXPECT_EQ(Undo(store::Verb::cancel, second.its.id).ask(world), "1 back");
  EXPECT_EQ(world.asked(), "");
}

// One of two is not counted there, and the other has a line; the answers are as its line says.
TEST(SharedReserve, the_fallback_minds_the_line_of_each_key) {
  for (const bool first_counts : {true, false}) {
    SharedWorld world(kOne);
    world.fate = [](const Deed&) { return says("-OOM no"); };
    store::Limit counts{.rule = rule("1/s burst 3")},
        other{.rule = rule("1/s burst 3"), .on_store_error = kAllow};
    std::array<store::Check, 2> checks = {store::Check{.limit = &counts, .key = "a", .cost = Cost{1}},
                                          store::Check{.limit = &other, .key = "b", .cost = Cost{1}}};
    Booking two(store::Verb::reserve);
    two.its.max_wait = 60s;
    two.its.lines = {{world.now, world.now + 5s}, {}};
    if (!first_counts) {
      std::swap(checks[0], checks[1]);
      std::swap(two.its.lines[0], two.its.lines[1]);
    }
    two.request.checks = checks;
    EXPECT_EQ(two.ask(world), "granted in 5999ms with an id (oom)") << first_counts;
  }
}

TEST(SharedReserve, a_reset_frees_the_slots_of_the_fallback) {
  SharedWorld world(kOne);
  const auto refuse = [](const Deed&) { return says("-OOM no"); };
  world.fate = refuse;
  Reserve first("in_flight=1", "k", 1, 0s, 60s), second("in_flight=1", "k", 1, 0s, 60s);
  EXPECT_EQ(first.ask(world), "granted in 0ms with an id (oom)");
  EXPECT_EQ(second.ask(world), "denied for 59900ms (oom)");
  world.fate = [](const Deed&) { return Fate{}; };
  world.reset("k");
  world.run(10ms);
  world.fate = refuse;
  EXPECT_EQ(second.ask(world), "granted in 0ms with an id (oom)");
}

// The clock steps back by ten seconds, and ten seconds later the same window begins again.
TEST(SharedReserve, what_was_held_before_a_step_back_goes_back_to_no_window_of_after) {
  const std::string of = "10/s algorithm=fixed_window align=clock";
  SharedWorld world(kOne);
  Reserve held(of, "k", 8, 0s, 60s);
  const nanoseconds began = world.now;
  EXPECT_EQ(held.ask(world), "granted in 0ms with an id");
  world.redis.ahead -= 10s;
  const std::size_t denied = world.check(rule(of), "k", 3);
  world.run(began + 10s + 200ms - world.now);
  EXPECT_TRUE(world.took(denied).starts_with("denied for ")) << world.took(denied);
  const std::size_t all = world.check(rule(of), "k", 10);
  world.run(1ms);
  EXPECT_EQ(world.took(all), "allowed 0");
  Undo(store::Verb::settle, held.its.id, 1).ask(world);
  const std::size_t more = world.check(rule(of), "k", 1);
  world.run(1ms);
  EXPECT_TRUE(world.took(more).starts_with("denied for ")) << world.took(more);
}

// What a reservation is told after such a step is as long as a check is.
TEST(SharedReserve, nobody_is_told_a_wait_of_the_length_of_a_step_back) {
  for (const std::string of : {"2/s algorithm=fixed_window", "2/s burst 2"}) {
    SharedWorld world(kOne);
    EXPECT_EQ(Reserve(of, "k", 2, 0s).ask(world, 1ms), "granted in 0ms");
    world.redis.ahead -= 1h;
    Reserve late(of, "k", 2, 0s, 60s);
    late.ask(world, 4ms);
    EXPECT_GE(late.its.wait, 0s) << of;
    EXPECT_LE(late.its.wait, 1s) << of;
  }
}

// It is asked for once more, after what denied it has been cut.
TEST(SharedReserve, one_that_may_wait_is_not_denied_for_a_step_back) {
  SharedWorld world(kOne);
  EXPECT_EQ(Reserve("2/s burst 2", "k", 2, 0s).ask(world, 1ms), "granted in 0ms");
  world.redis.ahead -= 1h;
  EXPECT_EQ(Reserve("2/s burst 2", "k", 1, 10s).ask(world, 4ms), "granted in 500ms with an id");
}

// The first in line of a server asks again and again for its plan. A server that is killed does not.
struct Plan : Reserve {
  Plan(std::string its_key, std::uint64_t cost, nanoseconds stood, const std::string& of = "1/10s burst 2")
      : Reserve(of, std::move(its_key), cost, 60s) {
    its.stands_in_line = true;
    its.stood = stood;
  }
  std::string ask_again(SharedWorld& world) {
    its.instead_of = its.id;
    return ask(world, 0ms + 1ms);
  }
  // Until its moment, as the store says it; below 0: it has none.
  nanoseconds moment(SharedWorld& world) {
    Undo asked(store::Verb::moment, its.id);
    world.submit(asked.request);
    world.run(1ms);
    EXPECT_EQ(asked.request.state, store::Request::State::answered);
    return asked.its.wait;
  }
};

bool may_act(SharedWorld& world, const core::Rule& pace, std::size_t process) {
  const std::size_t id = world.check(pace, "k", 1, {}, process);
  world.run(1ms);
  return world.requests[id].told->outcome.decision.allowed();
}

// It has not been asked for its moment, which has come, and then an older one acts.
TEST(SharedReserve, an_overdue_plan_that_does_not_fit_beside_an_older_ones_act_goes) {
  const std::string of = "1/s burst 1";
  SharedWorld world(kOne);
  EXPECT_EQ(Reserve(of, "k", 1, 0s, 60s).ask(world, 1ms), "granted in 0ms with an id");
  world.run(500ms);
  Plan gone("k", 1, 3s, of), older("k", 1, 2s, of), younger("k", 1, 0s, of);
  gone.ask(world, 1ms);
  older.ask(world, 1ms);
  Undo(store::Verb::cancel, gone.its.id).ask(world, 1ms);
  younger.ask(world, 1ms);
  EXPECT_LE(younger.moment(world), 500ms) << "it takes what is free before the older one's plan";
  EXPECT_GT(older.moment(world), 1s);
  world.run(500ms);
  EXPECT_EQ(older.ask_again(world), "granted in 0ms");
  EXPECT_LT(younger.moment(world), 0s);
}

TEST(SharedReserve, a_plan_lapses_when_its_server_asks_no_more) {
  SharedWorld world(kOne, {}, 2);
  const core::Rule pace = rule("1/10s burst 2");
  EXPECT_EQ(Reserve("1/10s burst 2", "k", 1, 0s).ask(world, 1ms), "granted in 0ms");
  Plan plan("k", 2, 0s), later("k", 1, 0s);
  EXPECT_EQ(plan.ask(world, 1ms), "granted in 9999ms with an id");
  for (int i = 0; i < 3; ++i) {
    world.run(998ms);
    EXPECT_EQ(plan.ask_again(world), "granted in " + std::to_string(9000 - 1000 * i) + "ms with an id");
    EXPECT_FALSE(may_act(world, pace, 0)) << "the plan would be late";
  }
  EXPECT_EQ(later.ask(world, 1ms), "granted in 16998ms with an id");
  world.run(1'100ms);
  EXPECT_TRUE(may_act(world, pace, 1)) << "nobody has asked for it, nor for the later one";
  EXPECT_EQ(plan.moment(world), -1ns);
  EXPECT_EQ(later.moment(world), -1ns);
  world.run(20s);
  EXPECT_TRUE(world.empty());
}

TEST(SharedReserve, a_plan_acts_when_its_moment_is_asked_for) {
  for (const nanoseconds hold : {0s, 30s}) {
    SharedWorld world(kOne);
    EXPECT_EQ(Reserve("1/s burst 2", "k", 2, 0s).ask(world, 1ms), "granted in 0ms");
    Plan plan("k", 1, 0s, "1/s burst 2");
    plan.its.hold = hold;
    EXPECT_EQ(plan.ask(world, 1ms), "granted in 999ms with an id");
    world.run(997ms);
    EXPECT_GT(plan.moment(world), 0ns);
    world.run(1ms);
    EXPECT_EQ(plan.moment(world), 0ns);
    // From then on it is charged, and nobody has to ask.
    world.run(3s);
    EXPECT_EQ(plan.moment(world), 0ns);
    Undo end(store::Verb::settle, plan.its.id, 3);
    end.ask(world, 1ms);
    EXPECT_EQ(end.its.wait >= 0ns, hold > 0s);
    EXPECT_EQ(Undo(store::Verb::cancel, plan.its.id).ask(world), "0 back");
  }
}

TEST(SharedReserve, who_has_stood_longer_plans_first) {
  SharedWorld world(kOne);
  EXPECT_EQ(Reserve("1/10s burst 2", "k", 2, 0s).ask(world, 1ms), "granted in 0ms");
  Plan younger("k", 1, 0s), older("k", 1, 5s), youngest("k", 1, 0s);
  EXPECT_EQ(younger.ask(world, 1ms), "granted in 9999ms with an id");
  EXPECT_EQ(youngest.ask(world, 1ms), "granted in 19998ms with an id");
  EXPECT_EQ(older.ask(world, 1ms), "granted in 9997ms with an id");
  EXPECT_EQ(younger.moment(world), -1ns);
  EXPECT_GT(youngest.moment(world), 0s) << "it has not become late";
  younger.its.stood = 10ms;
  EXPECT_EQ(younger.ask(world, 1ms), "granted in 19994ms with an id") << "it is older than the youngest";
  EXPECT_EQ(youngest.moment(world), -1ns);
  EXPECT_EQ(younger.ask_again(world), "granted in 19992ms with an id") << "it has come no earlier";
  EXPECT_EQ(Undo(store::Verb::cancel, older.its.id).ask(world, 1ms), "1 back");
  EXPECT_EQ(younger.ask_again(world), "granted in 9990ms with an id");
}

TEST(SharedReserve, keys_of_several_slots_are_refused) {
  SharedWorld world(kCluster);
  Reserve both("1/10s", kA, 1, 0s);
  store::Check checks[] = {both.check, both.check};
  checks[1].key = kB;
  both.request.checks = checks;
  EXPECT_EQ(
      both.ask(world),
      "fault: the keys of this request lie in different slots of the cluster, and cannot be charged for "
      "one moment: let them share a {hash tag}");
}

}  // namespace
}  // namespace weir::redis
