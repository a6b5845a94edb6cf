// Reservations: for which moment they are granted, and what becomes of those that are cancelled or settled.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agreement/ledger_model.hpp"
#include "agreement/spans.hpp"
#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

void reservations_have_a_moment_each_in_the_order_in_which_they_came(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  for (const nanoseconds wait : {0s, 0s, 1s, 2s, 3s}) {
    const Booked booked = reserve(trial, limit, "k", 1, 3s);
    trial.expect(booked.granted, "it is granted");
    trial.equal(booked.wait.count(), wait.count(), "wait");
    trial.equal(booked.id.empty(), wait == 0s, "has no id");
  }
  const Booked late = reserve(trial, limit, "k", 1, 2500ms);
  trial.expect(!late.granted, "one whose moment is too far is denied");
  trial.equal(late.wait.count(), nanoseconds{1500ms}.count(), "and told when it is not");
  trial.world.advance(1500ms - 1us);
  trial.expect(!reserve(trial, limit, "k", 1, 2500ms).granted, "before that it is denied");
  trial.world.advance(1us);
  trial.expect(reserve(trial, limit, "k", 1, 2500ms).granted, "and then granted");
  trial.equal(reserve(trial, limit, "k", 3, 60s).wait.count(), -1, "no wait helps above the burst");
}

void a_check_overtakes_no_reservation(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  for (int i = 0; i < 4; ++i) reserve(trial, limit, "k", 1, 10s);
  trial.equal(shown(trial.ask(limit, "k")),
              "denied, 0 of 2 left, retry after 3000000000 ns, reset after 4000000000 ns", "a check");
  trial.world.advance(2s);
  trial.expect(!trial.ask(limit, "k").allowed(), "when the last moment has come");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "a second later");
}

void a_reservation_of_nothing_looks(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Booked booked = reserve(trial, limit, "k", 0, 10s, 10s);
  trial.expect(booked.granted && booked.id.empty() && booked.wait == 0s, "it is granted now, without an id");
  trial.equal(trial.left(limit, "k"), 2, "left");
}

// Several limits, classes, shadows, guarantees and other numbers: the moment is the model's.
void the_moment_is_that_of_the_rule(Trial& trial) {
  core::Chance random;
  const auto up_to = [&](std::int64_t most) { return random.up_to(most); };
  constexpr std::int64_t kTick = 1'000;
  std::uint64_t waited = 0, several = 0, inside = 0;
  for (int trace = 0; trace < trial.runs(40); ++trace) {
    const std::string key = std::to_string(trace);
    std::vector<Limit> limits;
    const auto some_limit = [&](std::size_t i) {
      const nanoseconds interval = microseconds{1 + up_to(8)};
      Limit limit = trial.limit(core::Rule{Quota::make({1, interval}, 1 + up_to(9)).value()}, 1 + i);
      const std::int64_t full = limit.rule.quota.burst() * interval.count();
      if (up_to(3) == 0) limit.rule.kept = nanoseconds{up_to(full / kTick) * kTick};
      return limit;
    };
    const auto in_model = [](const Limit& limit) {
      const Quota& quota = limit.rule.quota;
      return oracle::LedgerModel::Limit{.most = quota.burst(),
                                        .interval = quota.emission_interval().count(),
                                        .kept = limit.rule.kept.count()};
    };
    std::vector<oracle::LedgerModel::Limit> of_model;
    for (std::int64_t more = up_to(2); more >= 0; --more) {
      limits.push_back(some_limit(limits.size()));
      of_model.push_back(in_model(limits.back()));
    }
    oracle::LedgerModel model(of_model, kTick);
    for (int step = 0; step < 30; ++step) {
      if (up_to(20) == 0) {
        const std::size_t i = random() % limits.size();
        limits[i] = some_limit(i);
        model.change(i, in_model(limits[i]));
      }
      if (up_to(2) == 0) trial.world.advance(microseconds{up_to(20)});
      std::vector<Part> parts;
      oracle::LedgerModel::Asks asks;
      for (const Limit& limit : limits) {
        const auto burst = limit.rule.quota.burst();
        const std::int64_t cost = up_to(9) == 0 ? up_to(burst + 1) : 1 + up_to(burst - 1);
        asks.push_back({.key = parts.size(), .cost = cost});
        parts.push_back({limit, key, static_cast<std::uint64_t>(cost)});
      }
      if (parts.size() > 1 && up_to(3) == 0) {
        parts[0].shadow = asks[0].shadow = true;
        if (up_to(1) == 0) parts[1].inside = 0, asks[1].inside = 0;
        inside += parts[1].inside == 0 ? 1 : 0;
      }
      const nanoseconds max_wait = microseconds{1 + up_to(80)};
      const Booked booked = reserve(trial, parts, max_wait);
      const auto should = model.reserve(asks, trial.world.now().count(), max_wait.count(), 0);
      const std::string what = " in trace " + key + ", step " + std::to_string(step);
      trial.equal(booked.granted, should.kind == oracle::LedgerModel::Kind::allowed, "granted" + what);
      trial.equal(booked.wait.count(), should.wait, "wait" + what);
      if (!trial.violations.empty()) return;
      waited += booked.granted && booked.wait > 0s ? 1 : 0;
      several += booked.granted && booked.wait > 0s && parts.size() > 1 ? 1 : 0;
    }
    trial.world.advance(1s);
  }
  trial.expect_seen(waited, 50);
  trial.expect_seen(several, 20);
  trial.expect_seen(inside, 20);
}

void all_or_none_are_reserved(Trial& trial) {
  const Limit wide = trial.limit("1/s burst 9", 1);
  const Limit narrow = trial.limit("1/10s", 2);
  trial.expect(reserve(trial, {{wide, "k", 2}, {narrow, "k"}}, 0s).granted, "both allow");
  const Booked denied = reserve(trial, {{wide, "k", 2}, {narrow, "k"}}, 1s);
  trial.expect(!denied.granted, "one does not");
  trial.equal(int{denied.by}, 1, "by");
  trial.equal(denied.wait.count(), nanoseconds{9s}.count(), "wait");
  trial.equal(trial.left(wide, "k"), 7, "left of the other");
  const Booked granted = reserve(trial, {{wide, "k", 2}, {narrow, "k"}}, 10s);
  trial.equal(granted.wait.count(), nanoseconds{10s}.count(), "one that may wait waits for it");
  trial.equal(trial.left(wide, "k"), 7, "left of the other, which is charged at that moment");
  trial.equal(cancel(trial, granted.id), std::uint64_t{2}, "units given back");
  trial.equal(trial.left(wide, "k"), 7, "left of both");
  trial.equal(reserve(trial, {{narrow, "k"}}, 10s).wait.count(), nanoseconds{10s}.count(),
              "and of the other");
}

void a_class_that_leaves_something_free_does_not_wait(Trial& trial) {
  Limit bulk = trial.limit("1/s burst 4", 1);
  bulk.rule.kept = 2s;
  trial.expect(reserve(trial, bulk, "k", 2, 10s).granted, "now there is room");
  const Booked booked = reserve(trial, bulk, "k", 1, 10s);
  trial.expect(!booked.granted && booked.wait == 1s, "later it comes back");
  trial.equal(trial.left(trial.limit("1/s burst 4", 1), "k"), 2, "left for others");
}

void the_last_reservation_goes_back_whole_and_once(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 2);
  const Booked booked = reserve(trial, limit, "k", 3, 10s);
  trial.equal(booked.wait.count(), nanoseconds{2s}.count(), "wait");
  trial.world.advance(1s);
  trial.equal(cancel(trial, booked.id), std::uint64_t{3}, "units given back");
  trial.equal(trial.left(limit, "k"), 2, "left");
  trial.equal(cancel(trial, booked.id), std::uint64_t{0}, "units given back again");
  trial.equal(cancel(trial, "nobody-has-this"), std::uint64_t{0}, "units of no reservation");
  trial.equal(trial.left(limit, "k"), 2, "left after all that");
}

void a_reservation_whose_moment_has_come_is_not_cancelled(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked booked = reserve(trial, limit, "k", 1, 10s);
  trial.world.advance(1s);
  trial.equal(cancel(trial, booked.id), std::uint64_t{0}, "units given back");
  trial.equal(trial.left(limit, "k"), 0, "left");
}

void a_moment_that_was_given_up_goes_to_the_next_that_fits(Trial& trial) {
  const Limit limit = trial.limit("1/s", 1);
  trial.ask(limit, "k");
  std::vector<Booked> booked;
  for (int i = 0; i < 4; ++i) booked.push_back(reserve(trial, limit, "k", 1, 10s));
  trial.equal(cancel(trial, booked[1].id), std::uint64_t{1}, "units given back");
  trial.expect(!trial.ask(limit, "k").allowed(), "it has not come");
  trial.equal(reserve(trial, limit, "k", 1, 10s).wait.count(), nanoseconds{2s}.count(), "the next takes it");
  trial.equal(reserve(trial, limit, "k", 1, 10s).wait.count(), nanoseconds{5s}.count(), "the one after not");
  trial.equal(cancel(trial, booked[0].id), std::uint64_t{1}, "units given back");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "a check takes one that has come");
  trial.expect(!trial.ask(limit, "k").allowed(), "and no other does");
  trial.equal(reserve(trial, limit, "k", 1, 10s).wait.count(), nanoseconds{5s}.count(), "the next one's");
  trial.equal(cancel(trial, booked[2].id), std::uint64_t{1}, "units given back");
  trial.world.advance(2500ms);
  trial.expect(!trial.ask(limit, "k").allowed(), "half a second later it is lost: the next would be late");
  trial.equal(reserve(trial, limit, "k", 1, 10s).wait.count(), nanoseconds{3500ms}.count(), "the wait then");
}

void what_cost_less_goes_back_and_what_cost_more_is_owed(Trial& trial) {
  struct Row {
    std::uint64_t actual;
    nanoseconds after;
    std::int64_t left;  // of 10, when 6 were held
    nanoseconds wait;
  };
  for (const auto& [actual, after, left, wait] :
       {Row{2, 0s, 8, 0s}, Row{6, 0s, 4, 0s}, Row{10, 0s, 0, 1s}, Row{13, 0s, 0, 4s}, Row{0, 0s, 10, 0s},
        Row{2, 3s, 10, 0s}, Row{10, 3s, 3, 0s}}) {
    const Limit limit = trial.limit("1/s burst 10", 1);
    const std::string key = std::to_string(actual) + "/" + std::to_string(after.count());
    const Booked held = reserve(trial, limit, key, 6, 0s, 60s);
    trial.expect(held.granted && !held.id.empty(), "what is held has an id");
    trial.world.advance(after);
    trial.equal(settle(trial, held.id, actual).count(), wait.count(), "until one more, of " + key);
    trial.equal(trial.left(limit, key), left, "left of " + key);
    trial.equal(settle(trial, held.id, 0).count(), -1, "once, of " + key);
    trial.equal(trial.left(limit, key), left, "left then of " + key);
  }
}

// Half of a unit has drained when the first takes of what was settled, and stays with the rest.
void what_is_left_of_a_settled_hold_is_taken_and_goes_back_to_the_last_part(Trial& trial) {
  const Limit limit = trial.limit("5/10s", 1);
  const Booked held = reserve(trial, limit, "k", 5, 0s, 16s);
  const Booked waits = reserve(trial, limit, "k", 1, 10s);
  trial.equal(waits.wait.count(), nanoseconds{2s}.count(), "wait");
  settle(trial, held.id, 0);
  trial.world.advance(1s);
  trial.equal(reserve(trial, limit, "k", 1, 8s).wait.count(), 0, "wait of the first that takes of it");
  trial.equal(reserve(trial, limit, "k", 2, 8s).wait.count(), 0, "wait of the second");
  trial.equal(cancel(trial, waits.id), std::uint64_t{1}, "units given back");
  trial.equal(trial.left(limit, "k"), 2, "left");
}

void an_estimate_stands_when_nobody_settles_it(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 6, 0s, 2s);
  trial.world.advance(2s);
  trial.equal(settle(trial, held.id, 0).count(), -1, "its time is up");
  trial.equal(trial.left(limit, "k"), 6, "left");
}

void more_than_may_be_held_is_not_held(Trial& trial) {
  Limit limit = trial.limit("1/s burst 10", 1);
  limit.holding.at_most = 5;
  const Booked first = reserve(trial, limit, "k", 4, 0s, 20s);
  const Booked second = reserve(trial, limit, "k", 2, 5s, 20s);
  trial.expect(first.granted && !second.granted, "there is room for the first alone");
  trial.equal(second.wait.count(), nanoseconds{20s}.count(), "until the first is over");
  trial.equal(reserve(trial, limit, "k", 6, 5s, 20s).wait.count(), -1, "above what may be held");
  trial.equal(trial.left(limit, "k"), 6, "left");
  trial.expect(settle(trial, first.id, 4).count() >= 0, "the first is settled");
  trial.expect(reserve(trial, limit, "k", 2, 5s, 20s).granted, "and then there is room");
}

void what_is_held_and_what_is_owed_are_waited_for_together(Trial& trial) {
  Limit slow = trial.limit("1/10s burst 4", 1);
  slow.holding.at_most = 2;
  const Limit rare = trial.limit("1/20s burst 1", 2);
  reserve(trial, slow, "k", 2, 0s, 1s);
  trial.equal(reserve(trial, slow, "k", 1, 0s, 1s).wait.count(), nanoseconds{1s}.count(),
              "until a hold ends");
  trial.ask(slow, "k", 2);
  trial.equal(reserve(trial, slow, "k", 1, 0s, 1s).wait.count(), nanoseconds{10s}.count(),
              "until one drains");
  trial.equal(reserve(trial, slow, "k", 1, 4s, 1s).wait.count(), nanoseconds{6s}.count(),
              "less its own wait");
  trial.equal(reserve(trial, slow, "k", 1, 10s, 1s).wait.count(), nanoseconds{1s}.count(), "and no less");
  trial.ask(rare, "k");
  const Booked both = reserve(trial, {{slow, "k", 1}, {rare, "k", 1}}, 0s, 1s);
  trial.equal(both.wait.count(), nanoseconds{20s}.count(), "until the other limit has one");
  trial.equal(int{both.by}, 1, "by that");
}

void an_id_dies_with_what_it_charged(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Booked held = reserve(trial, limit, "k", 1, 0s, 60s);
  trial.ask(limit, "k");
  const Booked waits = reserve(trial, limit, "k", 2, 10s);
  trial.expect(held.granted && waits.granted, "both are granted");
  trial.reset({{limit, "k"}});
  trial.ask(limit, "k");
  trial.equal(moment(trial, waits.id).count(), -1, "the moment of who waited");
  trial.equal(moment(trial, held.id).count(), -1, "and of what was held");
  trial.equal(cancel(trial, waits.id), std::uint64_t{0}, "units given back");
  trial.equal(settle(trial, held.id, 0).count(), -1, "nothing to settle");
  trial.equal(trial.left(limit, "k"), 1, "left");
}

void what_was_settled_has_no_moment(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Booked held = reserve(trial, limit, "k", 1, 0s, 60s);
  trial.equal(moment(trial, held.id).count(), 0, "its moment");
  trial.equal(settle(trial, held.id, 1).count(), 0, "it is settled");
  trial.equal(moment(trial, held.id).count(), -1, "its moment then");
}

// As what it cost is known afterwards.
void what_was_charged_nothing_is_settled_for_more(Trial& trial) {
  const Limit calls = trial.limit("1/s burst 5", 1);
  const Limit tokens = trial.limit("1/s burst 10", 2);
  const auto hold = [&](std::uint64_t units) {
    return reserve(trial, {{calls, "k", 1}, {tokens, "k", units}}, 0s, 60s);
  };
  const Booked first = hold(0), second = hold(0), third = hold(2);
  trial.expect(first.granted && second.granted && third.granted, "each is granted");
  trial.equal(trial.left(tokens, "k"), 8, "left");
  const auto settle_tokens = [&](const Booked& held, std::uint64_t units) {
    TestRequest question({}, Verb::settle);
    question.booking.id = held.id;
    question.booking.actuals.push_back({"tokens", {tokens.id}, units});
    trial.ask(question);
    trial.expect(question.fault == Fault::none, "nobody could settle: " + question.why);
    return question.booking.wait;
  };
  trial.equal(settle_tokens(first, 6).count(), 0, "until one more");
  trial.equal(trial.left(tokens, "k"), 2, "left");
  trial.equal(settle_tokens(second, 0).count(), 0, "one that cost nothing");
  trial.equal(trial.left(tokens, "k"), 2, "left");
  trial.equal(settle_tokens(third, 6).count(), nanoseconds{3s}.count(), "and one that cost more");
  trial.equal(trial.left(calls, "k"), 2, "left of the other");
}

// A class that is never served on its own may be served inside its guarantee, and wait for that.
void who_waits_for_its_guarantee_is_not_told_never(Trial& trial) {
  const Limit guarantee = trial.limit("1/s burst 1", 1);
  Limit parent = trial.limit("1/s burst 4", 2);
  parent.rule.kept = 4s;
  const auto ask = [&](nanoseconds max_wait) {
    return reserve(trial,
                   {{guarantee, "k", 1, true, Check::kNoGuarantee, "t"}, {parent, "k", 1, false, 0, "t"}},
                   max_wait);
  };
  trial.expect(ask(0s).granted, "inside its guarantee");
  const Booked next = ask(10s);
  trial.expect(next.granted, "the next");
  trial.equal(next.wait.count(), nanoseconds{1s}.count(), "waits for that");
}

void of_several_that_no_time_helps_the_first_is_told(Trial& trial) {
  const Limit wide = trial.limit("1/s burst 9", 1);
  const Limit narrow = trial.limit("1/s burst 1", 2);
  const Limit small = trial.limit("1/s burst 2", 3);
  Limit full = trial.limit("1/s burst 9", 4);
  full.holding.at_most = 1;
  trial.ask(wide, "k", 9);
  for (const nanoseconds hold : {0s, 60s}) {
    const Booked denied =
        reserve(trial, {{wide, "k", 3}, {narrow, "k", 3}, {small, "k", 3}, {full, "k", 3}}, 10s, hold);
    trial.equal(denied.wait.count(), -1, "never");
    trial.equal(int{denied.by}, 1, "by the first");
  }
  const Booked held = reserve(trial, {{full, "k", 3}, {narrow, "k", 3}}, 10s, 60s);
  trial.equal(held.wait.count(), -1, "never");
  trial.equal(int{held.by}, 0, "by what may be held, where that is the first");
}

void what_cannot_be_reserved_is_unsuitable(Trial& trial) {
  const Limit limit = trial.limit("5/s", 1);
  for (const char* const algorithm : {"sliding_window_counter", "sliding_window_log"}) {
    const Limit other = trial.limit(std::string("5/s algorithm=") + algorithm, 2);
    if (trial.world.refuses(other.rule)) continue;
    TestRequest question({{other, "k"}}, Verb::reserve);
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, std::string(algorithm) + " has no moments");
  }
  TestRequest twice({{limit, "k"}, {limit, "k"}}, Verb::reserve);
  trial.ask(twice);
  trial.expect(twice.fault == Fault::unsuitable, "the same limit and key twice");
  const Booked waits = reserve(trial, limit, "k", 1, 0s, 0s);
  trial.expect(waits.granted, "it is granted");
  trial.ask(limit, "k", 4);
  TestRequest unheld({}, Verb::settle);
  unheld.booking.id = reserve(trial, limit, "k", 1, 10s).id;
  trial.ask(unheld);
  trial.expect(unheld.fault == Fault::unsuitable, "what was granted without a hold is not settled");
}

// At the moments of acting, at most burst + W / T in any span, whatever is cancelled or cost something else.
void the_promise_holds_at_the_moments_of_acting(Trial& trial) {
  core::Chance random;
  constexpr nanoseconds kInterval = 1ms;
  struct Act {
    nanoseconds at;
    std::uint64_t units;
    std::string id;
    bool is_held;
  };
  std::uint64_t cancelled = 0, settled = 0;
  for (int trace = 0; trace < trial.runs(60); ++trace) {
    const std::int64_t burst = 1 + random.up_to(7);
    const Limit limit = trial.limit(core::Rule{Quota::make({1, kInterval}, burst).value()}, 1);
    const std::string key = std::to_string(trace);
    std::vector<Act> acts;
    for (int step = 0; step < 60; ++step) {
      const std::int64_t what = random.up_to(9);
      const std::uint64_t units = 1 + random() % static_cast<std::uint64_t>(std::min<std::int64_t>(burst, 3));
      if (what < 2) {
        trial.world.advance(microseconds{random.up_to(3'000)});
      } else if (what < 6) {
        const bool holds = random.up_to(2) == 0;
        const Booked booked = reserve(trial, limit, key, units, 20ms, holds ? 30ms : 0ms);
        if (booked.granted) acts.push_back({trial.world.now() + booked.wait, units, booked.id, holds});
      } else if (what < 7) {
        if (trial.ask(limit, key, units).allowed()) acts.push_back({trial.world.now(), units, "", false});
      } else if (!acts.empty()) {
        const std::size_t back = 1 + random() % std::min<std::size_t>(acts.size(), 6);
        Act& act = acts[acts.size() - back];
        if (act.id.empty()) continue;
        if (what < 9 || !act.is_held) {
          if (cancel(trial, act.id) == 0) continue;
          ++cancelled;
          acts.erase(acts.end() - static_cast<std::ptrdiff_t>(back));
        } else {
          const std::uint64_t actual = random() % (act.units + 2);
          if (settle(trial, act.id, actual).count() < 0) continue;
          ++settled;
          act.units = std::min(act.units, actual);
        }
      }
    }
    std::vector<Admitted> admitted;
    for (const Act& act : acts) admitted.push_back({act.at.count(), static_cast<std::int64_t>(act.units)});
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    trial.expect(kept(admitted, burst, kInterval.count()), "the promise, in trace " + key);
    trial.world.advance(1s);
  }
  trial.expect_seen(cancelled, 50);
  trial.expect_seen(settled, 20);
}

// One key under two quotas in turn. Of what acts, at most what both admit together, in any span: what waits
// is not fewer units for the other quota.
void what_waits_is_not_fewer_units_by_other_numbers(Trial& trial) {
  core::Chance random;
  for (int trace = 0; trace < trial.runs(30); ++trace) {
    const std::string key = std::to_string(trace);
    std::vector<Limit> limits;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t burst = 1 + random.up_to(40);
      const nanoseconds interval = 1ms * (1 + random.up_to(15));
      limits.push_back(trial.limit(core::Rule{Quota::make({1, interval}, burst).value()}, 1));
    }
    std::vector<Admitted> acts;
    for (int step = 0; step < 150; ++step) {
      const Limit& limit = limits[random() % limits.size()];
      const std::int64_t units = 1 + random.up_to(std::min<std::int64_t>(limit.rule.quota.burst(), 3) - 1);
      if (random() % 8 == 0) trial.world.advance(microseconds{random.up_to(9'000)});
      if (random() % 3 == 0) {
        const Booked booked = reserve(trial, limit, key, static_cast<std::uint64_t>(units), 400ms);
        if (booked.granted) acts.push_back({(trial.world.now() + booked.wait).count(), units});
      } else if (trial.ask(limit, key, static_cast<std::uint64_t>(units)).allowed()) {
        acts.push_back({trial.world.now().count(), units});
      }
    }
    std::sort(acts.begin(), acts.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    for (std::size_t first = 0; first < acts.size(); ++first) {
      std::int64_t units = 0;
      for (std::size_t last = first; last < acts.size(); ++last) {
        units += acts[last].cost;
        std::int64_t most = 0;
        for (const Limit& limit : limits) {
          const Quota& quota = limit.rule.quota;
          most += quota.burst() + (acts[last].at - acts[first].at) / quota.emission_interval().count();
        }
        if (units <= most) continue;
        return trial.expect(false, std::to_string(units) + " units act, and both admit " +
                                       std::to_string(most) + ", in trace " + key);
      }
    }
    trial.world.advance(10s);
  }
}

}  // namespace

std::vector<Property> reserve_properties() {
  return {
      {"reservations_have_a_moment_each_in_the_order_in_which_they_came",
       reservations_have_a_moment_each_in_the_order_in_which_they_came},
      {"a_check_overtakes_no_reservation", a_check_overtakes_no_reservation},
      {"a_reservation_of_nothing_looks", a_reservation_of_nothing_looks},
      {"the_moment_is_that_of_the_rule", the_moment_is_that_of_the_rule},
      {"all_or_none_are_reserved", all_or_none_are_reserved},
      {"a_class_that_leaves_something_free_does_not_wait", a_class_that_leaves_something_free_does_not_wait},
      {"the_last_reservation_goes_back_whole_and_once", the_last_reservation_goes_back_whole_and_once},
      {"a_reservation_whose_moment_has_come_is_not_cancelled",
       a_reservation_whose_moment_has_come_is_not_cancelled},
      {"a_moment_that_was_given_up_goes_to_the_next_that_fits",
       a_moment_that_was_given_up_goes_to_the_next_that_fits},
      {"what_cost_less_goes_back_and_what_cost_more_is_owed",
       what_cost_less_goes_back_and_what_cost_more_is_owed},
      {"what_is_left_of_a_settled_hold_is_taken_and_goes_back_to_the_last_part",
       what_is_left_of_a_settled_hold_is_taken_and_goes_back_to_the_last_part},
      {"an_estimate_stands_when_nobody_settles_it", an_estimate_stands_when_nobody_settles_it},
      {"more_than_may_be_held_is_not_held", more_than_may_be_held_is_not_held},
      {"what_is_held_and_what_is_owed_are_waited_for_together",
       what_is_held_and_what_is_owed_are_waited_for_together},
      {"an_id_dies_with_what_it_charged", an_id_dies_with_what_it_charged},
      {"what_was_settled_has_no_moment", what_was_settled_has_no_moment},
      {"what_was_charged_nothing_is_settled_for_more", what_was_charged_nothing_is_settled_for_more},
      {"who_waits_for_its_guarantee_is_not_told_never", who_waits_for_its_guarantee_is_not_told_never},
      {"of_several_that_no_time_helps_the_first_is_told", of_several_that_no_time_helps_the_first_is_told},
      {"what_cannot_be_reserved_is_unsuitable", what_cannot_be_reserved_is_unsuitable},
      {"the_promise_holds_at_the_moments_of_acting", the_promise_holds_at_the_moments_of_acting},
      {"what_waits_is_not_fewer_units_by_other_numbers", what_waits_is_not_fewer_units_by_other_numbers}};
}

}  // namespace weir::store::conformance
