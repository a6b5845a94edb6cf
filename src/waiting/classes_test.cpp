// Requests of a class that keeps something free: they wait in line and are charged when they are granted.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"
#include "waiting/slow_store_test.hpp"

namespace weir::inline v0_1::waiting::classes_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;

// Counts what it is asked.
class Counting final : public store::Store {
 public:
  explicit Counting(store::Store& other) : other_(other) {}
  void submit(std::span<Request* const> batch, store::Arrival when) override {
    for (const Request* each : batch) ++asked[each->verb];
    other_.submit(batch, when);
  }
  void cancel(Request& pending) override { other_.cancel(pending); }
  void give_back(const Request& charged, nanoseconds now) override { other_.give_back(charged, now); }
  std::map<Verb, int> asked;

 private:
  store::Store& other_;
};

struct Asker : Request {
  std::vector<std::string> keys;
  std::vector<Check> its;
  store::ReservationTerms which;
  std::vector<Asker*>* told = nullptr;
  nanoseconds told_at{-1};
  const nanoseconds* now = nullptr;
};

// A limit of ten at once and ten a second, of which `bulk` leaves half and `middle` two; a limit of a user,
// one a second.
struct World {
  World() {
    bulk.rule.kept = 500ms;
    middle.rule.kept = 200ms;
  }
  static store::Limit limit_of(const char* rule, std::uint64_t id) {
    return {.rule = core::Rule::parse(rule).value(), .id = id};
  }

  store::Limit critical = limit_of("10/s burst 10", 7);
  store::Limit bulk = critical;
  store::Limit middle = critical;
  store::Limit user = limit_of("1/s burst 1", 8);
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  Counting counting{embedded};
  House house{10'000};
  nanoseconds now = 100s;
  bool soon = false;
  AcquiringStore store{counting, house, [this] { return now; }, [] {}, [this] { soon = true; }};
  // Of another loop.
  AcquiringStore other{counting, house, [this] { return now; }, [] {}, [this] { soon = true; }};
  std::vector<Asker*> told;

  using What = std::vector<std::tuple<const store::Limit*, std::string, std::uint64_t>>;
  std::unique_ptr<Asker> make(const What& what, nanoseconds max_wait) {
    auto asker = std::make_unique<Asker>();
    asker->keys.reserve(what.size());
    for (const auto& [limit, key, cost] : what) {
      asker->keys.push_back(key);
      asker->its.push_back({.limit = limit, .key = asker->keys.back(), .cost = Cost{cost}});
    }
    asker->checks = asker->its;
    asker->verb = Verb::acquire;
    asker->reservation = &asker->which;
    asker->which.max_wait = max_wait;
    asker->told = &told;
    asker->now = &now;
    asker->on_answer = [](Request& request) {
      auto& self = static_cast<Asker&>(request);
      self.told->push_back(&self);
      self.told_at = *self.now;
      // The keys are the asker's again, and may be gone.
      for (std::string& key : self.keys) key.assign(key.size(), '?');
    };
    return asker;
  }
  std::unique_ptr<Asker> ask(const What& what, nanoseconds max_wait, AcquiringStore* at = nullptr) {
    auto asker = make(what, max_wait);
    Request* const one = asker.get();
    (at == nullptr ? store : *at).submit({&one, 1}, {now, now});
    if (asker->state == Request::State::submitted) return asker;
    for (std::string& key : asker->keys) key.assign(key.size(), '?');
    return asker;
  }
  std::unique_ptr<Asker> ask_bulk(std::uint64_t cost, nanoseconds max_wait) {
    return ask({{&bulk, "t", cost}}, max_wait);
  }
  // How many units a critical request would find.
  std::int64_t room(const std::string& key = "t") {
    Check check{.limit = &critical, .key = key, .cost = Cost{0}};
    Request look{.checks = {&check, 1}, .verb = Verb::look};
    Request* const one = &look;
    embedded.submit({&one, 1}, {now, now});
    return look.decision().remaining;
  }
  bool take(std::uint64_t units) {
    Check check{.limit = &critical, .key = "t", .cost = Cost{units}};
    Request request{.checks = {&check, 1}};
    Request* const one = &request;
    embedded.submit({&one, 1}, {now, now});
    return request.allowed();
  }
  // To every deadline on the way.
  void advance(nanoseconds by) {
    const nanoseconds end = now + by;
    for (;;) {
      nanoseconds next = end;
      soon = false;
      for (AcquiringStore* each : {&store, &other}) {
        each->advance(now);
        if (const auto deadline = each->next_deadline()) next = std::min(next, std::max(now, *deadline));
      }
      if (soon) continue;
      if (next > now) {
        now = next;
        continue;
      }
      const auto due = [this](const AcquiringStore& at) {
        return at.next_deadline() && *at.next_deadline() <= now;
      };
      if (!due(store) && !due(other)) return;
    }
  }
};

using Told = std::vector<Asker*>;

TEST(Classes, a_lower_class_waits_in_line_and_is_charged_when_it_is_granted) {
  World world;
  const auto first = world.ask_bulk(5, 10s), second = world.ask_bulk(3, 10s);
  EXPECT_TRUE(first->allowed());
  EXPECT_EQ(second->state, Request::State::submitted);
  EXPECT_EQ(world.room(), 5);
  EXPECT_EQ(world.house.waiting(), 1U);
  world.advance(299ms);
  EXPECT_EQ(world.room(), 7);
  EXPECT_TRUE(world.told.empty());
  world.advance(1ms);
  EXPECT_EQ(world.told, Told{second.get()});
  EXPECT_TRUE(second->allowed() && second->charged);
  EXPECT_EQ(second->which.wait, 0s);
  EXPECT_EQ(second->which.id, "");
  EXPECT_EQ(world.room(), 5);
  EXPECT_EQ(world.house.waiting(), 0U);
  EXPECT_TRUE(world.house.queues.empty());
}

TEST(Classes, it_is_first_come_first_served_and_a_large_cost_is_not_passed) {
  World world;
  const auto drained = world.ask_bulk(5, 0s);
  std::vector<std::unique_ptr<Asker>> all;
  Told expected;
  for (const std::uint64_t cost : {5U, 1U, 2U, 1U, 1U}) {
    all.push_back(world.ask_bulk(cost, 10s));
    expected.push_back(all.back().get());
  }
  world.advance(250ms);  // there is room for 2
  EXPECT_TRUE(world.told.empty());
  const auto late = world.ask_bulk(1, 10s);
  EXPECT_EQ(late->state, Request::State::submitted);
  expected.push_back(late.get());
  world.advance(2s);
  EXPECT_EQ(world.told, expected);
  EXPECT_EQ(all[0]->told_at, 100s + 500ms);
  EXPECT_EQ(all[4]->told_at, 100s + 1s);
  EXPECT_EQ(late->told_at, 100s + 1'100ms);
}

TEST(Classes, what_cannot_be_in_time_is_denied_at_once_and_told_when_it_could_wait) {
  World world;
  const auto drained = world.ask_bulk(5, 0s), first = world.ask_bulk(4, 1s);
  // Room for it in 800 ms.
  for (const auto& [max_wait, told] : {std::pair{799ms, 1ms}, {300ms, 500ms}, {0ms, 800ms}}) {
    const auto denied = world.ask_bulk(4, max_wait);
    ASSERT_EQ(denied->state, Request::State::answered);
    EXPECT_FALSE(denied->allowed() || denied->charged);
    EXPECT_EQ(denied->which.wait, told);
    EXPECT_EQ(denied->decision().retry_after, told);
    EXPECT_EQ(denied->decision().limit, 10);
    EXPECT_EQ(denied->decision().reset_after, 500ms);
  }
  const auto second = world.ask_bulk(4, 800ms);
  world.advance(801ms);
  EXPECT_EQ(world.told, (Told{first.get(), second.get()}));
  EXPECT_TRUE(second->allowed());
  const auto never = world.ask_bulk(6, 60s);
  EXPECT_EQ(never->decision().verdict, Verdict::never);
  EXPECT_EQ(never->which.wait, -1ns);
}

TEST(Classes, one_that_others_pass_until_its_deadline_is_denied_then_and_not_charged) {
  World world;
  const auto drained = world.ask_bulk(5, 0s), first = world.ask_bulk(2, 300ms),
             second = world.ask_bulk(1, 350ms);
  world.advance(100ms);
  EXPECT_TRUE(world.take(6));  // critical does not wait
  const std::int64_t before = world.room();
  world.advance(100ms);
  // Its turn shows that it cannot be in time, and then that the next one cannot.
  EXPECT_EQ(world.told, (Told{first.get(), second.get()}));
  EXPECT_EQ(first->decision().verdict, Verdict::denied);
  EXPECT_EQ(first->which.wait, 300ms);  // 600 ms until there is room, and it would wait for half of them
  EXPECT_FALSE(second->allowed());
  EXPECT_EQ(world.room(), before + 1);
}

TEST(Classes, one_that_goes_leaves_no_charge_and_its_turn) {
  World world;
  const auto drained = world.ask_bulk(5, 0s), first = world.ask_bulk(5, 10s), second = world.ask_bulk(1, 10s);
  world.store.cancel(*first);
  EXPECT_EQ(first->state, Request::State::idle);
  EXPECT_EQ(world.house.waiting(), 1U);
  world.advance(100ms);
  EXPECT_EQ(world.told, Told{second.get()});
  EXPECT_EQ(world.room(), 5);
}

TEST(Classes, a_wait_in_line_can_be_ended) {
  World world;
  const auto drained = world.ask_bulk(5, 0s), first = world.ask_bulk(2, 10s), second = world.ask_bulk(2, 10s);
  world.store.end(*second);
  EXPECT_TRUE(world.told.empty());
  world.advance(0s);
  EXPECT_EQ(world.told, Told{second.get()});
  EXPECT_FALSE(second->allowed());
  EXPECT_EQ(second->which.wait, 400ms);
  world.store.end(*first);
  world.advance(0s);
  EXPECT_EQ(first->which.wait, 200ms);
  EXPECT_EQ(world.room(), 5);
}

TEST(Classes, at_the_end_those_whose_turn_is_near_are_granted_and_the_others_denied) {
  World world;
  const auto drained = world.ask_bulk(5, 0s);
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < 10; ++i) all.push_back(world.ask_bulk(1, 10s));
  world.store.end_all_after(world.now + 400ms);
  world.advance(0s);
  EXPECT_EQ(world.told.size(), 6U);
  const auto late = world.ask_bulk(1, 10s);
  EXPECT_EQ(late->state, Request::State::answered);
  world.advance(400ms);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->allowed(), i < 4) << i;
    EXPECT_EQ(all[i]->which.wait, i < 4 ? 0ms : 100ms * (static_cast<int>(i) + 1)) << i;
  }
  EXPECT_EQ(world.house.waiting(), 0U);
}

TEST(Classes, a_more_important_class_does_not_wait_for_a_less_important_one) {
  World world;
  const auto drained = world.ask_bulk(5, 0s), waits = world.ask_bulk(5, 10s);
  const auto middle = world.ask({{&world.middle, "t", 2}}, 10s),
             critical = world.ask({{&world.critical, "t", 3}}, 10s);
  EXPECT_TRUE(middle->allowed());
  EXPECT_TRUE(critical->allowed());
  EXPECT_EQ(waits->state, Request::State::submitted);
}

TEST(Classes, who_comes_next_has_room_after_its_class_and_the_higher_ones) {
  World world;
  ASSERT_TRUE(world.take(10));
  const auto low = world.ask_bulk(3, 10s);
  const auto high = world.ask({{&world.critical, "t", 2}}, 10s);
  const auto opens = [&world](const store::Limit& limit, const char* key) {
    const Check check{.limit = &limit, .key = key, .cost = Cost{1}};
    return world.store.lines().after_all({&check, 1}, 0) - world.now;
  };
  EXPECT_EQ(opens(world.bulk, "t"), 1100ms);
  EXPECT_EQ(opens(world.middle, "t"), 500ms);
  EXPECT_EQ(opens(world.critical, "t"), 300ms);
  EXPECT_LT(opens(world.critical, "another"), 0s);
  EXPECT_LT(opens(world.user, "t"), 0s);
}

TEST(Classes, one_that_waits_for_its_own_limit_holds_up_nobody_at_another) {
  World world;
  const auto taken = world.ask({{&world.user, "u", 1}, {&world.bulk, "t", 1}}, 0s);
  const auto waits = world.ask({{&world.user, "u", 1}, {&world.bulk, "t", 1}}, 10s);
  const auto other = world.ask({{&world.user, "v", 1}, {&world.bulk, "t", 1}}, 10s);
  EXPECT_TRUE(other->allowed());
  // Those of the same keys stand after it.
  const auto same = world.ask({{&world.user, "u", 1}, {&world.bulk, "t", 1}}, 999ms);
  EXPECT_FALSE(same->allowed());
  EXPECT_EQ(same->which.wait, 1'001ms);
  // Nor is anybody's share of the other limit charged meanwhile.
  EXPECT_EQ(world.room(), 8);
  world.advance(1s);
  EXPECT_EQ(world.told, Told{waits.get()});
}

TEST(Classes, all_that_share_a_limit_stand_in_one_line_and_do_not_all_ask) {
  World world;
  const auto drained = world.ask_bulk(5, 0s);
  std::vector<std::unique_ptr<Asker>> all;
  Told expected;
  for (int i = 0; i < 100; ++i) {
    all.push_back(world.ask({{&world.user, "u" + std::to_string(i), 1}, {&world.bulk, "t", 1}}, 60s,
                            i % 2 == 0 ? &world.store : &world.other));
    expected.push_back(all.back().get());
  }
  world.counting.asked.clear();
  world.advance(10s);
  EXPECT_EQ(world.told, expected);  // over both loops
  EXPECT_LE(world.counting.asked[Verb::reserve], 200);
}

TEST(Classes, one_that_came_earlier_comes_first_wherever_it_has_waited) {
  World world;
  // The first waits for its user, the second for the shared limit.
  const auto taken = world.ask({{&world.user, "u", 1}, {&world.bulk, "t", 1}}, 0s);
  const auto first = world.ask({{&world.user, "u", 1}, {&world.bulk, "t", 5}}, 10s);
  world.advance(900ms);
  const auto drained = world.ask_bulk(5, 0s),
             second = world.ask({{&world.user, "v", 1}, {&world.bulk, "t", 5}}, 10s);
  EXPECT_TRUE(drained->allowed());
  world.advance(10s);
  EXPECT_EQ(world.told, (Told{first.get(), second.get()}));
}

TEST(Classes, a_guarantee_that_has_room_lets_one_pass_although_others_wait) {
  World world;
  store::Limit guarantee = World::limit_of("2/s burst 1", 9);
  const auto ask = [&](nanoseconds max_wait) {
    auto asker = world.make({{&guarantee, "g", 1}, {&world.bulk, "t", 1}}, max_wait);
    asker->its[0].shadow = true;
    asker->its[1].inside = 0;
    Request* const one = asker.get();
    world.store.submit({&one, 1}, {world.now, world.now});
    return asker;
  };
  const auto drained = world.ask_bulk(5, 0s), waits = world.ask_bulk(5, 10s);
  const auto inside = ask(10s);
  EXPECT_TRUE(inside->allowed());
  // Beyond it, it borrows: it waits, and passes when the guarantee has room again.
  const auto borrows = ask(10s);
  EXPECT_EQ(borrows->state, Request::State::submitted);
  world.take(5);
  world.advance(500ms);
  EXPECT_EQ(world.told, Told{borrows.get()});
  EXPECT_TRUE(borrows->allowed());
}

TEST(Classes, a_full_house_denies_at_once) {
  World world;
  for (int i = 0; i < 9'999; ++i) world.house.enter();
  const auto drained = world.ask_bulk(5, 0s), first = world.ask_bulk(1, 10s), second = world.ask_bulk(1, 10s);
  EXPECT_EQ(first->state, Request::State::submitted);
  EXPECT_EQ(second->state, Request::State::answered);
  EXPECT_EQ(second->which.wait, 200ms);
  EXPECT_EQ(world.house.turned_away(), 1U);
}

TEST(Classes, a_reset_lets_all_in_line_pass_that_have_room) {
  World world;
  const auto drained = world.ask_bulk(5, 0s);
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < 6; ++i) all.push_back(world.ask_bulk(1, 10s));
  Check check{.limit = &world.critical, .key = "t"};
  Request reset{.checks = {&check, 1}, .verb = Verb::reset};
  Request* const one = &reset;
  world.embedded.submit({&one, 1}, {world.now, world.now});
  world.advance(100ms);
  EXPECT_EQ(world.told.size(), 5U);
}

TEST(Classes, one_may_be_destroyed_by_what_another_in_line_is_told) {
  World world;
  const auto drained = world.ask_bulk(5, 0s);
  static World* its;
  static std::unique_ptr<Asker> second;
  its = &world;
  auto first = world.ask_bulk(1, 10s);
  second = world.ask_bulk(1, 10s);
  const auto third = world.ask_bulk(1, 10s);
  first->on_answer = [](Request&) {
    its->store.cancel(*second);
    second.reset();
  };
  world.advance(200ms);
  EXPECT_EQ(world.told, Told{third.get()});
  EXPECT_EQ(world.house.waiting(), 0U);
}

// What a slow store answers when the asker has gone.
TEST(Classes, one_that_goes_while_it_is_asked_is_not_charged) {
  World world;
  SlowStore late(world.embedded);
  AcquiringStore store(late, world.house, [&] { return world.now; }, [] {}, [] {});
  for (const nanoseconds hold : {0s, 5s}) {
    for (const store::Limit* limit : {&world.bulk, &world.critical}) {
      auto gone = world.make({{limit, "s", 2}}, 10s);
      gone->which.hold = hold;
      Request* const one = gone.get();
      store.submit({&one, 1}, {world.now, world.now});
      store.cancel(*gone);
      gone.reset();
      while (!late.asked.empty()) late.answer(world.now);
      EXPECT_EQ(world.room("s"), 10);
      EXPECT_EQ(world.embedded.reservations().counts().open, 0U);
    }
  }
  // In line, and asked again: others stand after it until it is answered.
  std::vector<std::unique_ptr<Asker>> all;
  for (const std::uint64_t cost : {5U, 1U, 1U}) {
    all.push_back(world.make({{&world.bulk, "s", cost}}, 10s));
    Request* const one = all.back().get();
    store.submit({&one, 1}, {world.now, world.now});
    late.answer(world.now);
  }
  world.now += 100ms;
  store.advance(world.now);
  ASSERT_EQ(late.asked.size(), 1U);
  store.cancel(*all[1]);
  late.answer(world.now);
  EXPECT_EQ(world.room("s"), 6);  // 5 have gone, 1 has drained
  store.advance(world.now);
  while (!late.asked.empty()) late.answer(world.now);
  EXPECT_TRUE(all[2]->allowed());
  EXPECT_EQ(world.house.waiting(), 0U);
}

// Bulk asks for more than there is, of many users and on two loops; critical stays in its share, which is a
// limit of half the burst at no faster a rate. What one waits for is in the order of coming for each set of
// keys.
TEST(Classes, bulk_saturates_and_critical_waits_for_nothing) {
  core::Chance chance;
  World world;
  const store::Limit share = World::limit_of("4/s burst 5", 11);
  struct Sent {
    std::unique_ptr<Asker> asker;
    std::int64_t user;
    nanoseconds deadline;
  };
  std::deque<Sent> bulk;
  std::vector<std::unique_ptr<Asker>> critical;
  for (int step = 0; step < 4'000; ++step) {
    world.advance(std::chrono::milliseconds{chance.up_to(40)});
    if (chance.up_to(2) != 0) {
      const std::int64_t user = chance.up_to(3);
      const nanoseconds max_wait = std::chrono::milliseconds{chance.up_to(3'000)};
      AcquiringStore& at = chance.up_to(1) == 0 ? world.store : world.other;
      bulk.push_back({world.ask({{&world.bulk, "t", static_cast<std::uint64_t>(chance.from_one_to(5))},
                                 {&world.critical, "u" + std::to_string(user), 1}},
                                max_wait, &at),
                      user, world.now + max_wait});
      if (chance.up_to(9) == 0 && bulk.back().asker->state == Request::State::submitted) {
        at.cancel(*bulk.back().asker);
        bulk.pop_back();
      }
      continue;
    }
    const auto cost = static_cast<std::uint64_t>(chance.from_one_to(5));
    Check check{.limit = &share, .key = "share", .cost = Cost{cost}};
    Request in_share{.checks = {&check, 1}};
    Request* const one = &in_share;
    world.embedded.submit({&one, 1}, {world.now, world.now});
    if (!in_share.allowed()) continue;
    critical.push_back(world.ask({{&world.critical, "t", cost}}, 60s));
    ASSERT_EQ(critical.back()->state, Request::State::answered) << step;
    ASSERT_TRUE(critical.back()->allowed()) << step;
  }
  world.advance(4s);
  EXPECT_EQ(world.house.waiting(), 0U);
  EXPECT_TRUE(world.house.queues.empty());
  std::size_t waited = 0;
  std::map<std::int64_t, nanoseconds> last;
  for (const Sent& each : bulk) {
    ASSERT_EQ(each.asker->state, Request::State::answered);
    if (!each.asker->allowed() || each.asker->told_at.count() < 0) continue;
    ++waited;
    EXPECT_LE(each.asker->told_at, each.deadline);
    EXPECT_GE(each.asker->told_at, last[each.user]);
    last[each.user] = each.asker->told_at;
  }
  EXPECT_GT(waited, 100U);
  EXPECT_GT(critical.size(), 300U);
}

}  // namespace
}  // namespace weir::waiting::classes_test
