// Random traces of every verb but those of lines, over one to three keys, rates and slots, each answer beside
// the model's (ledger_model.hpp); and the promise at the moments of acting.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agreement/ledger_model.hpp"
#include "agreement/spans.hpp"
#include "core/chance_test.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::ledger_trace {

using oracle::LedgerModel;
using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;

// What is asked.
struct Asked {
  // Submits it, and it is answered.
  std::function<void(Request&, nanoseconds now)> submit;
  // What there is of it.
  bool several = true;  // reservations, and units taken, of several keys
  bool slots = true;
  bool classes = true;
  bool penalties = true;
  bool resets = true;
  bool overdrafts = true;  // other bounds than that of a day
  // A key of which nothing is open knows what the other side has said to be left.
  bool remembers = true;
  bool nevers = true;  // costs that no time admits
};

class Trace {
 public:
  Trace(core::Chance& chance, const Asked& store, std::int64_t& now, int number)
      : chance_(chance),
        store_(store),
        now_(now),
        pauses_(chance.up_to(1) == 0),
        model_(some_limits(), 1),
        key_(std::to_string(number)) {
    limits_.resize(model_.limits().size(), {.rule = {Quota::per_second(1)}});
    for (std::size_t i = 0; i < limits_.size(); ++i) change(i, model_.limits()[i]);
    refunds_ = chance.up_to(2) == 0;
    most_tick_ = 1 + chance.up_to(12);
    longest_ = 1 + chance.up_to(60);
    overdraft_ = store.overdrafts && chance.up_to(2) == 0 ? chance.up_to(30) : 86'400'000'000'000;
  }

  void step() {
    const std::int64_t what = chance_.up_to(21);
    if (what < 4) {
      now_ += chance_.up_to(most_tick_);
    } else if (what < 10) {
      reserve();
    } else if (what < 12) {
      check();
    } else if (what < 14) {
      look(any());
    } else if (what == 14) {
      take();
    } else if (what == 15) {
      charge();
    } else if (what == 16) {
      pauses_&& chance_.up_to(1) == 0 ? pause() : refund();
    } else if (what == 17) {
      if (!ids_.empty()) cancel(chance_() % ids_.size());
    } else if (what < 20) {
      if (!ids_.empty()) settle(chance_() % ids_.size());
    } else if (what == 20) {
      if (!ids_.empty()) extend(chance_() % ids_.size());
    } else {
      rarely();
    }
  }
  // At the moments of acting, of what was not refunded, by numbers that have not changed.
  bool is_kept() const {
    if (refunded_ || changed_) return true;
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const LedgerModel::Limit& limit = model_.limits()[i];
      if (limit.slots) continue;
      std::vector<Admitted> acts;
      for (const LedgerModel::Act& each : model_.acts(i))
        if (each.units > 0) acts.push_back({each.at, each.units * limit.interval});
      std::sort(acts.begin(), acts.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
      if (!kept(acts, limit.most * limit.interval, 1)) return false;
    }
    return true;
  }

  std::string said;

 private:
  LedgerModel::Limit some_limit(bool slots) {
    if (slots) return {.slots = true, .most = 1 + chance_.up_to(2)};
    LedgerModel::Limit made{.most = 1 + chance_.up_to(4), .interval = 1 + chance_.up_to(3)};
    if (store_.classes && chance_.up_to(3) == 0) made.kept = chance_.up_to(made.most * made.interval / 2);
    if (!store_.penalties || !pauses_ || chance_.up_to(2) != 0) return made;
    made.penalty = 1 + chance_.up_to(20);
    made.afresh = chance_.up_to(2) == 0;
    if (chance_.up_to(1) == 0) return made;
    made.growing = 2 + chance_.up_to(1);
    made.whole = 1 + chance_.up_to(made.growing - 2);
    made.most_penalty = made.penalty * (1 + chance_.up_to(9));
    return made;
  }
  std::vector<LedgerModel::Limit> some_limits() {
    std::vector<LedgerModel::Limit> limits{some_limit(false)};
    for (std::int64_t more = chance_.up_to(2); more > 0; --more)
      limits.push_back(some_limit(store_.slots && chance_.up_to(2) == 0));
    return limits;
  }
  // A pause is counted by the numbers of who asks, so they stay the same where there are any.
  void rarely() {
    if (chance_.up_to(9) == 0 && store_.resets) return reset(any());
    if (pauses_ || chance_.up_to(1) == 0) {
      for (std::size_t id = 0; id < ids_.size(); ++id) moment(id);
      return;
    }
    const std::size_t i = any();
    change(i, some_limit(model_.limits()[i].slots));
    changed_ = true;
  }
  void change(std::size_t i, const LedgerModel::Limit& to) {
    model_.change(i, to);
    store::Limit& limit = limits_[i];
    limit.rule = to.slots ? core::Rule::slots(std::to_string(to.most)).value()
                          : core::Rule{Quota::make({1, nanoseconds{to.interval}}, to.most).value()};
    limit.rule.kept = nanoseconds{to.kept};
    limit.id = 1 + i + (to.slots ? 100 : 0);
    limit.name = std::array{"first", "second", "third"}.at(i);
    limit.penalty = {.time = nanoseconds{to.penalty},
                     .growing = static_cast<std::uint32_t>(1000 * to.growing / to.whole),
                     .most = nanoseconds{to.most_penalty},
                     .afresh = to.afresh};
    said += at() + "limit " + std::to_string(i) + (to.slots ? " slots " : " burst ") +
            std::to_string(to.most) + " T " + std::to_string(to.interval) + " kept " +
            std::to_string(to.kept) + " penalty " + std::to_string(to.penalty) +
            (to.afresh ? " afresh growing " : " growing ") + std::to_string(to.growing) + "/" +
            std::to_string(to.whole) + " to " + std::to_string(to.most_penalty) + "\n";
  }
  std::string at() const { return std::to_string(now_) + ": "; }
  std::size_t any() { return chance_() % limits_.size(); }
  bool is_slots(std::size_t i) const { return model_.limits()[i].slots; }

  LedgerModel::Asks some(bool slots, bool several) {
    LedgerModel::Asks asks;
    for (std::size_t i = 0; i < limits_.size(); ++i)
      if ((slots || !is_slots(i)) && chance_.up_to(2) != 0) asks.push_back({.key = i, .cost = cost(i)});
    if (!several && asks.size() > 1) asks = {asks[chance_() % asks.size()]};
    return asks;
  }
  std::int64_t cost(std::size_t i) {
    if (is_slots(i)) return 1;
    if (!store_.nevers) return 1 + chance_.up_to(model_.limits()[i].most - 1);
    return 1 + chance_.up_to(model_.limits()[i].most - 1 + (chance_.up_to(30) == 0 ? 1 : 0));
  }
  static std::string text(const LedgerModel::Asks& asks) {
    std::string text;
    for (const LedgerModel::Ask& each : asks)
      text += " " + std::to_string(each.cost) + " of " + std::to_string(each.key);
    return text;
  }

  // Asks, and leaves what was said in `request_` and `checks_`.
  void ask(Verb verb, const LedgerModel::Asks& asks) {
    checks_.clear();
    for (const LedgerModel::Ask& each : asks)
      checks_.push_back(
          {.limit = &limits_[each.key], .key = key_, .cost = Cost{static_cast<std::uint64_t>(each.cost)}});
    request_ = {
        .checks = checks_, .verb = verb, .reservation = &reservation_, .charge = &charge_, .take = &take_};
    store_.submit(request_, nanoseconds{now_});
  }
  void same(const std::string& what, const std::string& store, const std::string& model) {
    said += at() + what + "\n   " + store + "\n";
    if (request_.fault != Fault::none) said += "   " + request_.why + "\n";
    if (store != model) said += "   the model says " + model + "\n";
    EXPECT_EQ(store, model) << what;
  }
  static std::string name_of(LedgerModel::Kind kind) {
    return std::array{"allowed", "denied", "never", "busy"}.at(static_cast<std::size_t>(kind));
  }
  static std::string told(const LedgerModel::Told& each) {
    return name_of(each.kind) + " " + std::to_string(each.wait);
  }
  std::string told(nanoseconds wait) const {
    const bool is_busy = std::any_of(checks_.begin(), checks_.end(), [](const Check& each) {
      return each.decision.verdict == Verdict::busy;
    });
    const auto kind = request_.charged   ? LedgerModel::Kind::allowed
                      : wait.count() < 0 ? LedgerModel::Kind::never
                      : is_busy          ? LedgerModel::Kind::busy
                                         : LedgerModel::Kind::denied;
    return name_of(kind) + " " + std::to_string(wait.count());
  }
  std::string told() const {
    const Decision& decision = request_.decision();
    return told(decision.allowed() ? nanoseconds{0} : decision.retry_after.value_or(nanoseconds{-1}));
  }

  // Counted by another T, what is owed drains as it was counted: a wait may be longer than it has to be,
  // where others are told moments.
  std::int64_t wait_of(std::int64_t told, std::int64_t model) const {
    return changed_ && model > 0 ? std::max(told, model) : model;
  }
  std::int64_t wait_told() const {
    const Decision& decision = request_.decision();
    return decision.retry_after ? decision.retry_after->count() : -1;
  }

  void check() {
    const auto asks = some(false, true);
    if (asks.empty()) return;
    ask(Verb::check, asks);
    LedgerModel::Told model = model_.check(asks, now_);
    model.wait = wait_of(wait_told(), model.wait);
    same("check" + text(asks), told(), told(model));
  }
  void look(std::size_t i) {
    ask(Verb::look, {{.key = i, .cost = 1}});
    const LedgerModel::Looked model = model_.look(i, now_);
    const Decision& decision = checks_[0].decision;
    const auto text = [](std::int64_t wait, std::int64_t remaining, std::int64_t reset) {
      return std::to_string(wait) + ", " + std::to_string(remaining) + " left, reset after " +
             std::to_string(reset);
    };
    const nanoseconds wait =
        decision.allowed() ? nanoseconds{0} : decision.retry_after.value_or(nanoseconds{-1});
    same("look at " + std::to_string(i), text(wait.count(), decision.remaining, decision.reset_after.count()),
         text(wait_of(wait.count(), model.retry_after), model.remaining, model.reset_after));
  }
  void take() {
    auto asks = some(false, store_.several);
    if (asks.empty()) return;
    const std::int64_t most = 1 + chance_.up_to(5), least = 1 + chance_.up_to(most - 1);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      asks[i].cost = store_.several ? 1 + chance_.up_to(1) : 1;
      take_.unit[i] = static_cast<std::uint64_t>(asks[i].cost);
      if (!store_.nevers && asks[i].cost * least > model_.limits()[asks[i].key].most) return;
    }
    take_.most = static_cast<std::uint64_t>(most);
    take_.least = static_cast<std::uint64_t>(least);
    ask(Verb::take, asks);
    LedgerModel::Told model = model_.take(most, least, asks, now_);
    model.wait = wait_of(wait_told(), model.wait);
    same("take " + std::to_string(least) + " to " + std::to_string(most) + " of" + text(asks),
         told() + " units " + std::to_string(take_.granted),
         told(model) + " units " + std::to_string(model.units));
  }
  void reserve() {
    const auto asks = some(true, store_.several);
    if (asks.empty()) return;
    const bool has_slots = std::any_of(asks.begin(), asks.end(),
                                       [&](const LedgerModel::Ask& each) { return is_slots(each.key); });
    const std::int64_t max_wait = chance_.up_to(2) == 0 ? 0 : chance_.up_to(longest_);
    const std::int64_t hold = has_slots || chance_.up_to(1) == 0 ? 1 + chance_.up_to(longest_) : 0;
    reservation_ = {.max_wait = nanoseconds{max_wait}, .hold = nanoseconds{hold}};
    ask(Verb::reserve, asks);
    LedgerModel::Told model = model_.reserve(asks, now_, max_wait, hold);
    if (changed_ && model.wait > 0 && model.kind != LedgerModel::Kind::allowed &&
        reservation_.wait.count() > 0)
      model.wait = reservation_.wait.count();
    const std::string id = reservation_.id;
    const bool has_id = model.id != LedgerModel::kNone;
    same("reserve" + text(asks) + " max_wait " + std::to_string(max_wait) + " hold " + std::to_string(hold) +
             (has_id ? ", number " + std::to_string(ids_.size()) : ""),
         told(reservation_.wait) + (id.empty() ? "" : " id"), told(model) + (has_id ? " id" : ""));
    if (has_id) ids_.push_back(id);
    for (const LedgerModel::Ask& each : asks) {
      if (!has_id || !is_slots(each.key)) continue;
      EXPECT_LE(model_.open(each.key, now_), model_.limits()[each.key].most) << "more than N are open";
    }
  }

  void ask_of(Verb verb, std::size_t id) {
    reservation_ = {.id = ids_[id], .overdraft = nanoseconds{overdraft_}};
    ask(verb, {});
  }
  void moment(std::size_t id) {
    ask_of(Verb::moment, id);
    std::int64_t model = model_.moment(id, now_);
    if (model_.is_of_no_matter(id, now_)) model = reservation_.wait.count();
    same("moment of " + std::to_string(id), std::to_string(reservation_.wait.count()), std::to_string(model));
  }
  void cancel(std::size_t id) {
    if (pauses_) moment(id);
    ask_of(Verb::cancel, id);
    same("cancel " + std::to_string(id), std::to_string(reservation_.given_back),
         std::to_string(model_.cancel(id, now_)));
  }
  void extend(std::size_t id) {
    const std::int64_t hold = chance_.up_to(longest_);
    reservation_ = {.hold = nanoseconds{hold}, .id = ids_[id]};
    ask(Verb::extend, {});
    same("extend " + std::to_string(id) + " by " + std::to_string(hold),
         std::to_string(reservation_.wait.count()), std::to_string(model_.extend(id, hold, now_)));
  }
  void settle(std::size_t id) {
    const std::int64_t how = chance_.up_to(3), units = chance_.up_to(chance_.up_to(9) == 0 ? 20 : 5);
    reservation_ = {.id = ids_[id], .overdraft = nanoseconds{overdraft_}};
    if (how > 0) reservation_.actual = static_cast<std::uint64_t>(units);
    ask(Verb::settle, {});
    auto model =
        model_.settle(id, how > 0 ? std::optional(units) : std::nullopt, std::nullopt, now_, overdraft_);
    // By the numbers of the grant, or by those of now.
    if (changed_ && model.wait >= 0) model.wait = std::max(reservation_.wait.count(), std::int64_t{0});
    const bool fails = request_.fault != Fault::none;
    same("settle " + std::to_string(id) + (how > 0 ? " at " + std::to_string(units) : ""),
         std::to_string(fails ? -2 : reservation_.wait.count()) + " dropped " +
             std::to_string(store_.overdrafts ? reservation_.dropped : 0),
         std::to_string(model.wait) + " dropped " + std::to_string(store_.overdrafts ? model.dropped : 0));
  }
  void reset(std::size_t i) {
    ask(Verb::reset, {{.key = i, .cost = 1}});
    model_.reset(i);
    said += at() + "reset " + std::to_string(i) + "\n";
  }

  static std::string text(const weir::Charged& told) {
    return text(LedgerModel::Charged{static_cast<std::int64_t>(told.charged),
                                     static_cast<std::int64_t>(told.overdraft), told.wait.count(),
                                     told.reset_after.count(), static_cast<std::int64_t>(told.dropped)});
  }
  static std::string text(const LedgerModel::Charged& told) {
    return std::to_string(told.charged) + " charged, " + std::to_string(told.overdraft) + " over, wait " +
           std::to_string(told.wait) + ", reset after " + std::to_string(told.reset_after) + ", " +
           std::to_string(told.dropped) + " dropped";
  }
  void charge() {
    const std::size_t i = any();
    if (is_slots(i)) return;
    const bool remaining = (store_.remembers || !refunds_) && chance_.up_to(2) == 0;
    const std::int64_t units = chance_.up_to(chance_.up_to(3) == 0 ? 20 : 5);
    charge_ = {.outside = Outside(remaining ? Outside::Form::remaining : Outside::Form::cost,
                                  static_cast<std::uint64_t>(units), nanoseconds{overdraft_})};
    ask(Verb::charge, {{.key = i, .cost = units}});
    const auto form = remaining ? LedgerModel::Form::remaining : LedgerModel::Form::cost;
    LedgerModel::Charged model = model_.charge({.key = i, .cost = units}, form, now_, overdraft_);
    model.wait = wait_of(charge_.told.wait.count(), model.wait);
    same((remaining ? "remaining " : "charge ") + std::to_string(units) + " of " + std::to_string(i),
         text(charge_.told), text(model));
  }
  void pause() {
    const std::size_t i = any();
    if (is_slots(i)) return;
    const std::int64_t length = 1 + chance_.up_to(longest_);
    const bool afresh = chance_.up_to(2) == 0;
    charge_ = {.outside = Outside(Pause{nanoseconds{length}, afresh})};
    ask(Verb::charge, {{.key = i, .cost = 1}});
    const auto form = afresh ? LedgerModel::Form::afresh : LedgerModel::Form::pause;
    same((afresh ? "pause afresh " : "pause ") + std::to_string(i) + " for " + std::to_string(length),
         text(charge_.told), text(model_.charge({.key = i, .cost = length}, form, now_, 0)));
  }
  void refund() {
    const std::size_t i = any();
    if (!refunds_ || is_slots(i)) return;
    const std::int64_t units = 1 + chance_.up_to(6);
    charge_ = {.outside = detail::refund_of(Cost{static_cast<std::uint64_t>(units)})};
    ask(Verb::charge, {{.key = i, .cost = units}});
    same("refund " + std::to_string(units) + " of " + std::to_string(i), std::to_string(charge_.told.charged),
         std::to_string(model_.refund(i, units, now_)));
    refunded_ = true;
  }

  core::Chance& chance_;
  const Asked& store_;
  std::int64_t& now_;
  const bool pauses_;
  LedgerModel model_;
  std::string key_;
  bool refunds_, refunded_ = false, changed_ = false;
  std::int64_t most_tick_, longest_, overdraft_;
  std::vector<store::Limit> limits_;
  std::vector<std::string> ids_;  // by the model's number
  std::vector<Check> checks_;
  Request request_;
  store::ReservationTerms reservation_;
  store::ChargeTerms charge_;
  store::TakeTerms take_;
};

// As many traces, of that many steps each.
inline void play(const Asked& store, int traces, int steps = 40) {
  core::Chance chance;
  std::int64_t now = 1'000'000'000'000'000;
  for (int number = 0; number < traces; ++number) {
    Trace trace(chance, store, now, number);
    for (int step = 0; step < steps; ++step) {
      trace.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "trace " << number << "\n" << trace.said;
    }
    ASSERT_TRUE(trace.is_kept()) << "trace " << number << "\n" << trace.said;
    now += 1'000'000;
  }
}

}  // namespace weir::ledger_trace
