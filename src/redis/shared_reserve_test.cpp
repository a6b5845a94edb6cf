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
  EXPECT_EQ(world.redis.owed("k", second.limit.rule, world.now), 3);
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
