// What is known of reservations survives a restart: a store that is restored from a copy answers as the one
// that was copied.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::reservations_copy_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr core::HashKey kSeed{1, 2};

struct World {
  EmbeddedStore store{1_MiB, WhenFull::deny, kSeed};
  nanoseconds now = 1000s;

  std::vector<std::int64_t> ask(Verb verb, std::span<Check> checks, ReservationTerms* reservation) {
    Request request{.checks = checks, .verb = verb, .reservation = reservation};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
    // One that was granted without a hold is not settled.
    EXPECT_TRUE(verb == Verb::settle || request.fault == Fault::none) << request.why;
    std::vector<std::int64_t> said = {static_cast<std::int64_t>(request.fault), request.charged ? 1 : 0,
                                      request.by};
    for (const Check& check : checks) {
      said.push_back(static_cast<std::int64_t>(check.decision.verdict));
      said.push_back(check.decision.remaining);
      said.push_back(check.decision.reset_after.count());
    }
    if (reservation != nullptr) {
      said.push_back(reservation->wait.count());
      said.push_back(static_cast<std::int64_t>(reservation->given_back));
    }
    return said;
  }
  std::string reserve(const Limit& limit, std::uint64_t cost, nanoseconds max_wait, nanoseconds hold = 0s) {
    Check check{.limit = &limit, .key = "k", .cost = Cost{cost}};
    ReservationTerms reservation{.max_wait = max_wait, .hold = hold};
    ask(Verb::reserve, {&check, 1}, &reservation);
    return reservation.id;
  }
  std::uint64_t cancel(const std::string& id) {
    ReservationTerms reservation{.id = id};
    ask(Verb::cancel, {}, &reservation);
    return reservation.given_back;
  }
  nanoseconds settle(const std::string& id, std::uint64_t actual) {
    ReservationTerms reservation{.id = id, .actual = actual};
    ask(Verb::settle, {}, &reservation);
    return reservation.wait;
  }
  std::int64_t left(const Limit& limit) {
    Check check{.limit = &limit, .key = "k", .cost = Cost{0}};
    ask(Verb::check, {&check, 1}, nullptr);
    return check.decision.remaining;
  }

  std::string copy() {
    std::string bytes;
    store.reservations().copy(now, [&](std::string_view piece) {
      bytes += piece;
      return true;
    });
    return bytes;
  }
  // As a snapshot does it, under a clock that says `other_now` at this moment.
  bool restore_into(World& other, const std::string& bytes) {
    std::vector<Table::Entry> entries;
    for (std::uint32_t leaf = 0; leaf < store.table().leaves();)
      leaf = store.table().copy_segment(leaf, now, entries);
    for (const Table::Entry& entry : entries) EXPECT_TRUE(other.store.table().restore(entry, other.now));
    return other.store.reservations().restore(bytes, other.now, other.now);
  }
};

TEST(ReservationsCopy, has_whether_a_pause_forgets) {
  for (const char* const rule : {"1/s burst 4", "4/h algorithm=fixed_window"}) {
    for (const bool afresh : {true, false}) {
      const Limit limit{.rule = core::Rule::parse(rule).value(), .id = 1};
      if (!afresh && !core::can_reserve(limit.rule.algorithm)) continue;
      World one, other;
      other.now = 7s;
      Check check{.limit = &limit, .key = "k", .cost = Cost{4}};
      one.ask(Verb::check, {&check, 1}, nullptr);
      ChargeTerms pause{.outside = Pause{30s, afresh}};
      Request request{.checks = {&check, 1}, .verb = Verb::charge, .charge = &pause};
      Request* const each = &request;
      one.store.submit({&each, 1}, {one.now, one.now});
      one.now += 10s;
      ASSERT_TRUE(one.restore_into(other, one.copy()));
      other.now += 20s - 1ns;
      EXPECT_EQ(other.left(limit), 0);
      other.now += 1ns;
      EXPECT_EQ(other.left(limit), afresh ? 4 : 1) << rule;
    }
  }
}

// Who stood in line has gone with the program: its plan was charged to nobody.
TEST(ReservationsCopy, has_no_plans) {
  const Limit rate{.rule = core::Rule::parse("1/s burst 4").value(), .id = 1};
  const Limit slots{.rule = core::Rule::parse("in_flight=2").value(), .id = 2};
  for (const bool plans : {true, false}) {
    World one, other;
    other.now = 7s;
    std::array<Check, 2> checks = {
        {{.limit = &rate, .key = "k", .cost = Cost{4}}, {.limit = &slots, .key = "k", .cost = Cost{1}}}};
    one.ask(Verb::check, std::span(checks).first(1), nullptr);
    ReservationTerms terms{.max_wait = 10s, .hold = 60s, .stands_in_line = plans};
    one.ask(Verb::reserve, checks, &terms);
    ASSERT_EQ(terms.wait, 4s);
    ASSERT_TRUE(one.restore_into(other, one.copy()));
    EXPECT_EQ(other.store.reservations().counts().open, plans ? 0U : 1U);
    int free = 0;
    while (!other.reserve(slots, 1, 0s, 60s).empty()) ++free;
    EXPECT_EQ(free, plans ? 2 : 1);
    other.now += 4s;
    EXPECT_EQ(other.left(rate), plans ? 4 : 0);
  }
}

TEST(ReservationsCopy, goes_on_as_the_store_that_was_copied) {
  core::Chance chance;
  const std::vector<Limit> limits = {{.rule = core::Rule::parse("1/s burst 4").value(), .id = 1},
                                     {.rule = core::Rule::parse("2/s burst 5").value(), .id = 2},
                                     {.rule = core::Rule::parse("1/s burst 3").value(), .id = 1}};
  std::uint64_t restored = 0;
  for (int trace = 0; trace < 400; ++trace) {
    auto one = std::make_unique<World>();
    std::unique_ptr<World> other;
    // By number, the ids in both stores.
    std::vector<std::pair<std::string, std::string>> ids;
    const int copied_at = static_cast<int>(chance.up_to(30));
    for (int step = 0; step < 60; ++step) {
      if (step == copied_at) {
        other = std::make_unique<World>();
        // What was before a clock's zero is taken for then: later than it was, so that more is denied.
        other->now = 60s + nanoseconds{chance.up_to(2'000'000'000'000)};
        const auto counts = one->store.reservations().counts();
        ASSERT_TRUE(one->restore_into(*other, one->copy()));
        ASSERT_LE(one->store.reservations().counts().open, counts.open);
        ASSERT_EQ(other->store.reservations().counts().open, one->store.reservations().counts().open);
        restored += other->store.reservations().counts().open;
        for (auto& [here, there] : ids) there = here;
      }
      const nanoseconds passes{chance.up_to(1) * chance.up_to(1'500'000'000)};
      const auto what = chance.up_to(9);
      const auto units = static_cast<std::uint64_t>(1 + chance.up_to(2));
      const nanoseconds wait{chance.up_to(8'000'000'000)};
      const nanoseconds hold{chance.up_to(1) * chance.up_to(6'000'000'000)};
      const auto which =
          ids.empty() ? 0 : static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(ids.size()) - 1));
      const auto limit = static_cast<std::size_t>(chance.up_to(1) + chance.up_to(trace % 4 == 0 ? 1 : 0));
      const bool two = limit < 2 && chance.up_to(3) == 0;
      std::pair<std::string, std::string> fresh;
      const auto step_in = [&](World& world, const std::string& id, std::string& made) {
        world.now += passes;
        std::vector<Check> checks = {{.limit = &limits[limit], .key = "k", .cost = Cost{units}}};
        if (two) checks.push_back({.limit = &limits[1 - limit], .key = "k", .cost = Cost{units}});
        ReservationTerms reservation{.max_wait = wait, .hold = hold, .id = id, .actual = units};
        if (what < 5) {
          auto said = world.ask(Verb::reserve, checks, &reservation);
          made = reservation.id;
          said.push_back(made.empty() ? 0 : 1);
          return said;
        }
        if (what == 5) return world.ask(Verb::check, checks, nullptr);
        if (what < 9) return world.ask(what < 8 ? Verb::cancel : Verb::settle, {}, &reservation);
        return world.ask(Verb::look, checks, nullptr);
      };
      const auto said = step_in(*one, ids.empty() ? "" : ids[which].first, fresh.first);
      if (other) {
        ASSERT_EQ(step_in(*other, ids.empty() ? "" : ids[which].second, fresh.second), said)
            << "trace " << trace << " step " << step << " copied at " << copied_at << " verb " << what;
      }
      if (!fresh.first.empty()) ids.push_back(fresh);
    }
  }
  EXPECT_GT(restored, 0U);
}

// What comes between the copy of a key and that of the reservations is of neither.
TEST(ReservationsCopy, gives_nothing_back_that_it_has_not_seen_charged) {
  const Limit limit{.rule = core::Rule::parse("1/s burst 1").value()};
  World one;
  EXPECT_TRUE(one.reserve(limit, 1, 0s).empty());
  const std::string kept = one.reserve(limit, 1, 60s);
  const std::string cancelled = one.reserve(limit, 1, 60s);
  std::string late;
  std::string bytes;
  int pieces = 0;
  one.store.reservations().copy(one.now, [&](std::string_view piece) {
    bytes += piece;
    if (++pieces < 64) return true;
    if (pieces == 64) {
      EXPECT_EQ(one.cancel(cancelled), 1U);
      late = one.reserve(limit, 1, 60s);
      EXPECT_FALSE(late.empty());
    }
    return true;
  });
  ASSERT_FALSE(late.empty());
  World other;
  ASSERT_TRUE(other.store.reservations().restore(bytes, other.now, other.now));
  EXPECT_EQ(other.store.reservations().counts().open, 1U);
  EXPECT_EQ(other.left(limit), 0);  // the key's state is in the copy, too
  EXPECT_EQ(other.cancel(late), 0U);
  EXPECT_EQ(other.cancel(cancelled), 0U);
  EXPECT_EQ(other.cancel(kept), 1U);
}

TEST(ReservationsCopy, how_often_a_key_was_breached_is_not_forgotten) {
  const Limit limit{.rule = core::Rule::parse("1/s burst 1").value(),
                    .penalty = {.time = 10s, .growing = 2000, .most = 60s}};
  const auto breach = [&limit](World& world) {
    Check check{.limit = &limit, .key = "k", .cost = Cost{1}};
    for (int i = 0; i < 2; ++i) world.ask(Verb::check, {&check, 1}, nullptr);
    return check.decision.retry_after.value_or(0ns);
  };
  World one;
  EXPECT_EQ(breach(one), 10s);
  one.now += 10s;
  EXPECT_EQ(breach(one), 20s);
  one.now += 20s;
  World other;
  other.now = 5s;  // on its clock one second has passed since
  ASSERT_TRUE(other.store.reservations().restore(one.copy(), other.now - 1s, other.now));
  EXPECT_EQ(breach(other), 40s);
  other.now += 240s;
  EXPECT_EQ(breach(other), 10s) << "all of them are over";
}

TEST(ReservationsCopy, leaves_out_what_is_over) {
  const Limit limit{.rule = core::Rule::parse("1/s burst 1").value()};
  World one;
  one.reserve(limit, 1, 0s);
  const std::string soon = one.reserve(limit, 1, 60s);
  const std::string later = one.reserve(limit, 1, 60s);
  const std::string bytes = one.copy();
  World other;
  const nanoseconds then = other.now;
  other.now += 1500ms;
  ASSERT_TRUE(other.store.reservations().restore(bytes, then, other.now));
  EXPECT_EQ(other.store.reservations().counts().open, 1U);
  EXPECT_EQ(other.cancel(soon), 0U);
  EXPECT_EQ(other.cancel(later), 1U);
  World much_later;
  much_later.now += 1h;
  ASSERT_TRUE(much_later.store.reservations().restore(bytes, then, much_later.now));
  EXPECT_EQ(much_later.store.reservations().counts(), Reservations::Counts{});
}

TEST(ReservationsCopy, is_refused_when_anything_is_missing_or_too_much) {
  const Limit limit{.rule = core::Rule::parse("1/s burst 2").value()};
  World one;
  one.reserve(limit, 2, 0s, 60s);
  const std::string first = one.reserve(limit, 1, 60s);
  one.reserve(limit, 1, 60s);
  EXPECT_EQ(one.cancel(first), 1U);
  const std::string bytes = one.copy();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    World other;
    ASSERT_FALSE(other.store.reservations().restore(bytes.substr(0, size), other.now, other.now)) << size;
  }
  World other;
  EXPECT_FALSE(other.store.reservations().restore(bytes + std::string(8, '\0'), other.now, other.now));
  // A list that is longer than the file.
  std::string long_list = bytes;
  const std::uint64_t most = ~std::uint64_t{0};
  std::memcpy(long_list.data(), &most, sizeof most);
  World another;
  EXPECT_FALSE(another.store.reservations().restore(long_list, another.now, another.now));
  // Whatever stands in it, reading it ends.
  core::Chance chance;
  for (int i = 0; i < 2000; ++i) {
    std::string bad = bytes;
    bad[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(bad.size()) - 1))] ^=
        static_cast<char>(1 + chance.up_to(254));
    World read;
    read.store.reservations().restore(bad, read.now, read.now);
    read.reserve(limit, 1, 60s);
  }
}

// Slots are taken until the same ends; a bound hold has ended, before its moment as a cancelled one.
TEST(ReservationsCopy, has_the_slots_of_all_holds_but_bound_ones) {
  const Limit slots{.rule = *core::Rule::slots("4"), .id = 1};
  const Limit rate{.rule = core::Rule::parse("1/s burst 2").value(), .id = 2};
  World one;
  const auto reserve = [&](World& world, std::vector<Check> checks, nanoseconds hold, bool bound) {
    ReservationTerms terms{.max_wait = 60s, .hold = hold, .bound = bound};
    world.ask(Verb::reserve, checks, &terms);
    return terms.id;
  };
  const auto free = [&](World& world) {
    Check check{.limit = &slots, .key = "k"};
    world.ask(Verb::look, {&check, 1}, nullptr);
    return check.decision.remaining;
  };
  const Check slot{.limit = &slots, .key = "k", .cost = Cost{1}};
  const Check units{.limit = &rate, .key = "k", .cost = Cost{2}};
  const std::string held = reserve(one, {slot}, 10s, false);
  reserve(one, {slot, units}, 20s, true);
  reserve(one, {slot, units}, 20s, true);  // in two seconds
  const std::string forgotten = reserve(one, {{.limit = &slots, .key = "l", .cost = Cost{1}}}, 20s, false);
  Check other{.limit = &slots, .key = "l"};
  one.ask(Verb::reset, {&other, 1}, nullptr);
  EXPECT_EQ(free(one), 1);
  World two;
  two.now = 5s;
  ASSERT_TRUE(one.restore_into(two, one.copy()));
  EXPECT_EQ(free(two), 3);
  EXPECT_EQ(two.settle(forgotten, 0), nanoseconds{-1});
  EXPECT_FALSE(reserve(two, {units}, 0s, false).empty());  // the moment that was given up
  two.now += 10s - 1ns;
  EXPECT_EQ(free(two), 3);
  two.now += 1ns;
  EXPECT_EQ(free(two), 4);
  EXPECT_EQ(two.settle(held, 0), nanoseconds{-1});
  EXPECT_EQ(two.store.reservations().in_flight(two.now).size(), 0U);
}

// Any holds on two keys, extended, settled or left alone: each that is open is open in the copy, until then.
TEST(ReservationsCopy, has_each_open_hold_whatever_was_done_to_it) {
  const Limit slots{.rule = *core::Rule::slots("3"), .id = 1};
  const Limit rate{.rule = core::Rule::parse("1/s burst 9").value(), .id = 2};
  core::Chance chance;
  std::size_t extended = 0;
  for (int trace = 0; trace < 200; ++trace) {
    World one;
    std::map<std::string, nanoseconds> open;
    const auto extend = [](World& world, const std::string& id, nanoseconds hold) {
      ReservationTerms terms{.hold = hold, .id = id};
      world.ask(Verb::extend, {}, &terms);
      return terms.wait;
    };
    for (auto steps = chance.up_to(8); steps > 0; --steps) {
      one.now += 1s;
      std::erase_if(open, [&](const auto& each) { return each.second <= one.now; });
      if (chance.up_to(1) == 0 || open.empty()) {
        std::vector<Check> checks{{.limit = &slots, .key = "k", .cost = Cost{1}}};
        if (chance.up_to(1) == 0) checks.push_back({.limit = &rate, .key = "k", .cost = Cost{1}});
        ReservationTerms terms{.hold = 5s};
        one.ask(Verb::reserve, checks, &terms);
        if (!terms.id.empty()) open[terms.id] = one.now + 5s;
        continue;
      }
      const auto which = std::next(open.begin(), chance.up_to(static_cast<std::int64_t>(open.size()) - 1));
      if (chance.up_to(2) == 0) {
        one.settle(which->first, 1);
        open.erase(which);
      } else {
        const nanoseconds hold = std::chrono::seconds{1 + chance.up_to(4)};
        EXPECT_EQ(extend(one, which->first, hold), hold);
        which->second = one.now + hold;
        ++extended;
      }
    }
    World two;
    two.now = one.now;
    ASSERT_TRUE(one.restore_into(two, one.copy()));
    const auto open_in_two = two.store.reservations().in_flight(two.now)[1];
    EXPECT_EQ(open_in_two, open.size());
    std::multimap<nanoseconds, std::string> ends;  // time goes forward, whatever order the ids have
    for (const auto& [id, end] : open) ends.emplace(end, id);
    for (const auto& [end, id] : ends) {
      two.now = end - 1ns;
      EXPECT_EQ(extend(two, id, 1ns), 1ns);
    }
  }
  EXPECT_GT(extended, 20U);
}

}  // namespace
}  // namespace weir::store::reservations_copy_test
