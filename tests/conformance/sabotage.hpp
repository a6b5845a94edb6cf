// Stores that each break one sentence of the contract, for a test that the suite finds it out.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "conformance/acquiring_world.hpp"
#include "conformance/later.hpp"

namespace weir::inline v0_1::store::conformance {

class ChargesOnDenial : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::check || kept.copy.charged) return;
    for (Check check : kept.checks) {
      check.cost = Cost{1};
      Request extra;
      extra.checks = {&check, 1};
      ask_inner(extra, kept.when);
    }
  }
};

// The last check of several looks as if it were charged, and is not.
class LosesOneOfAllOrNone : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    const Cost cost = kept.checks.back().cost;
    const bool loses = kept.checks.size() > 1 && kept.copy.verb == Verb::check;
    if (loses) kept.checks.back().cost = Cost{0};
    Later::decide(kept);
    if (loses) kept.checks.back().decision.remaining -= static_cast<std::int64_t>(cost.units);
  }
};

class ChargesEachAlone : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) {
      Request alone;
      alone.verb = kept.copy.verb;
      alone.checks = {&check, 1};
      ask_inner(alone, kept.when);
    }
    kept.copy.charged = std::ranges::all_of(kept.checks, [](const Check& c) { return c.decision.allowed(); });
  }
};

class AnswersTwice : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    Later::deliver(kept, asked);
    asked.on_answer(asked);
  }
};

class AnswersAfterCancel : public Later {
  using Later::Later;
  void cancel(Request& pending) override { pending.state = Request::State::idle; }
};

class AnswersInsideSubmit : public Later {
  using Later::Later;
  void submit(std::span<Request* const> batch, Arrival when) override {
    Later::submit(batch, when);
    run();
  }
};

class ForgetsToAnswer : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    if (kept.copy.charged) Later::deliver(kept, asked);
  }
};

class DecidesTheLastFirst : public Later {
  using Later::Later;
  std::unique_ptr<Kept> take() override {
    std::swap(waiting_.front(), waiting_.back());
    return Later::take();
  }
};

class ReadsKeysLate : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (std::size_t i = 0; i < kept.checks.size(); ++i) kept.checks[i].key = kept.asked->checks[i].key;
    Later::decide(kept);
  }
};

class KeepsTheDeciderOfBefore : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    Kept& same = const_cast<Kept&>(kept);
    same.copy.by = std::max(same.copy.by, asked.by);
    Later::deliver(same, asked);
  }
};

class IgnoresTheId : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.id = 0;
    Later::decide(kept);
  }
};

// The id is made of the numbers, so that changing them forgets every debt.
class IdentifiesByNumbers : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.id ^= static_cast<std::uint64_t>(limit.rule.quota.burst());
    Later::decide(kept);
  }
};

// A denial recounts the debt by its own numbers, as an admission does: all that is owed, one for each
// unit.
class RecountsOnDenial : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::check || kept.copy.charged) return;
    for (Check check : kept.checks) {
      if (check.decision.verdict != Verdict::denied) continue;
      const std::int64_t owed = check.decision.limit - check.decision.remaining;
      Request reset;
      reset.verb = Verb::reset;
      reset.checks = {&check, 1};
      ask_inner(reset, kept.when);
      check.cost = Cost{static_cast<std::uint64_t>(owed)};
      Request again;
      again.checks = {&check, 1};
      ask_inner(again, kept.when);
    }
  }
};

class KeepsNothingFree : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.rule.kept = nanoseconds{0};
    Later::decide(kept);
  }
};

// Every month has 30 days.
class MonthsOf30Days : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) {
      const core::Calendar* const calendar = limit.rule.calendar;
      if (calendar == nullptr || calendar->unit() != core::Calendar::Unit::month) continue;
      const auto quota = Quota::make({limit.rule.quota.rate().count, std::chrono::days{30}});
      limit.rule = core::Rule{quota.value(), Algorithm::fixed_window_clock}.on_clock(limit.rule.phase);
    }
    Later::decide(kept);
  }
};

class EnforcesShadows : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) {
      check.shadow = false;
      check.inside = Check::kNoGuarantee;
    }
    Later::decide(kept);
  }
};

class AlwaysBorrows : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) check.inside = Check::kNoGuarantee;
    Later::decide(kept);
  }
};

// Before it knows whether the request passes.
class ChargesShadowsOfTheDenied : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.allowed() || kept.copy.verb != Verb::check) return;
    for (Check check : kept.checks) {
      if (!check.shadow || !check.decision.allowed()) continue;
      Request alone;
      alone.checks = {&check, 1};
      ask_inner(alone, kept.when);
    }
  }
};

class LooksCharge : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb != Verb::look) return Later::decide(kept);
    Later::decide(kept);
    std::vector<Check> checks = kept.checks;
    Request charge;
    charge.checks = checks;
    ask_inner(charge, kept.when);
  }
};

class LooksTakeOne : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Check& check : kept.checks) check.cost.units = std::max<std::uint64_t>(1, check.cost.units);
    Later::decide(kept);
  }
};

class GivesBackWhatHasDrained : public Later {
  using Later::Later;
  void give_back(const Request& charged, nanoseconds) override {
    inner_.give_back(charged, charged.charged_at);
  }
};

class GivesNothingBack : public Later {
  using Later::Later;
  void give_back(const Request&, nanoseconds) override {}
};

class CountsEveryResetKey : public Later {
  using Later::Later;
  void deliver(const Kept& kept, Request& asked) override {
    const_cast<Kept&>(kept).copy.forgotten = static_cast<std::uint32_t>(kept.checks.size());
    Later::deliver(kept, asked);
  }
};

// ------------------------------------------------------------------------------------------ reservations

class IgnoresMaxWait : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb != Verb::reserve) return Later::decide(kept);
    const nanoseconds max_wait = std::exchange(kept.copy.reservation->max_wait, std::chrono::hours{1});
    Later::decide(kept);
    kept.copy.reservation->max_wait = max_wait;
  }
};

// What is denied is told to act at the moment at which a check would pass, and nothing is charged for it.
class ReservesWithoutCharging : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    ReservationTerms* const asked = kept.copy.reservation;
    if (kept.copy.verb != Verb::reserve) return Later::decide(kept);
    const nanoseconds max_wait = std::exchange(asked->max_wait, nanoseconds{0});
    Later::decide(kept);
    asked->max_wait = max_wait;
    if (kept.copy.charged || asked->wait.count() < 0 || asked->wait > max_wait) return;
    kept.copy.charged = true;
    asked->id = "nobody";
    kept.checks[kept.copy.by].decision.verdict = Verdict::allowed;
    kept.checks[kept.copy.by].decision.retry_after.reset();
  }
};

class ReservesTheFirstLimitAlone : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb == Verb::reserve) kept.copy.checks = std::span(kept.checks).first(1);
    Later::decide(kept);
    if (kept.copy.verb == Verb::reserve)
      for (std::size_t i = 1; i < kept.checks.size(); ++i) kept.checks[i].decision = kept.checks[0].decision;
  }
};

// What was told a later moment is not looked at: a check that is denied asks for the key as it would be
// without.
class LooksAtNobodyWhoWaits : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    ReservationTerms* const asked = kept.copy.reservation;
    if (kept.copy.verb == Verb::reserve && asked->wait.count() > 0 && kept.copy.charged) waits_ = asked->id;
    if (kept.copy.verb != Verb::check || kept.copy.charged || kept.checks[0].cost.units == 0) return;
    ReservationTerms which{.id = waits_};
    Request cancel{.verb = Verb::cancel, .reservation = &which};
    ask_inner(cancel, kept.when);
    Later::decide(kept);
  }
  std::string waits_{};
};

// What is paused owes at least as much as drains by then, and that is all.
class PausesAreDebts : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge == nullptr || kept.copy.charge->outside.form != Outside::Form::pause)
      return Later::decide(kept);
    Check look = kept.checks[0];
    look.cost = Cost{0};
    Request before{.checks = {&look, 1}};
    ask_inner(before, kept.when);
    const Outside pause = kept.copy.charge->outside;
    const Quota& quota = look.limit->rule.quota;
    const nanoseconds lacks =
        pause.length + quota.emission_interval() * (quota.burst() - 1) - look.decision.reset_after;
    kept.checks[0].cost.units =
        static_cast<std::uint64_t>(std::max(lacks, nanoseconds{0}) / quota.emission_interval());
    kept.copy.charge->outside = Cost{0};
    Later::decide(kept);
    kept.copy.charge->outside = pause;
  }
};

// Who was told a moment in a pause acts at it.
class LetsPausedOnesAct : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    ReservationTerms* const asked = kept.copy.reservation;
    Later::decide(kept);
    if (kept.copy.verb == Verb::reserve && kept.copy.charged) known_.insert(asked->id);
    if (kept.copy.verb == Verb::moment && known_.contains(asked->id))
      asked->wait = std::max(asked->wait, nanoseconds{0});
  }
  std::set<std::string> known_;
};

class LetsEveryClassWait : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb == Verb::reserve)
      for (Limit& limit : kept.limits) limit.rule.kept = nanoseconds{0};
    Later::decide(kept);
  }
};

// What was cancelled is said to have gone back, and stays charged.
class KeepsWhatWasCancelled : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb != Verb::cancel) return Later::decide(kept);
    kept.copy.reservation->given_back = 3;
  }
};

class CancelsTwice : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::cancel) return;
    std::uint64_t& units = units_[kept.copy.reservation->id];
    units = std::max(units, kept.copy.reservation->given_back);
    kept.copy.reservation->given_back = units;
  }
  std::map<std::string, std::uint64_t> units_;
};

// Beside what the other store does with a moment that was given up, another may act in its place.
class HandsAMomentOutTwice : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    ReservationTerms* const asked = kept.copy.reservation;
    const bool is_free = kept.copy.verb == Verb::reserve && free_units_ >= kept.checks[0].cost.units;
    Later::decide(kept);
    if (kept.copy.verb == Verb::cancel) free_units_ = asked->given_back;
    if (!is_free || kept.copy.charged) return;
    free_units_ = 0;
    kept.copy.charged = true;
    asked->wait = nanoseconds{0};
    kept.checks[0].decision.verdict = Verdict::allowed;
    kept.checks[0].decision.retry_after.reset();
  }
  std::uint64_t free_units_ = 0;
};

class SettlesNothing : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb == Verb::settle) kept.copy.reservation->actual.reset();
    Later::decide(kept);
  }
};

// As a check would: what there is no room for is not charged.
class ChargesOnlyWhatHasRoom : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    Later::decide(kept);
    if (kept.copy.verb != Verb::charge || kept.copy.charge->told.overdraft == 0) return;
    kept.copy.verb = Verb::reset;
    ask_inner(kept.copy, kept.when);
    kept.copy.verb = Verb::charge;
    kept.copy.charged = true;
  }
};

// As without OthersFree.
class ChargesTheOthers : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge == nullptr) return Later::decide(kept);
    const auto how = std::exchange(kept.copy.charge->others_free, std::nullopt);
    Later::decide(kept);
    if (!how) return;
    for (Check& each : kept.checks) {
      Check look = each;
      look.cost = Cost{0};
      Request alone;
      alone.checks = {&look, 1};
      ask_inner(alone, kept.when);
      each.decision = look.decision;
    }
  }
};

// Nor for a look.
class LooksStopNobody : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge == nullptr || !kept.copy.charge->others_free || kept.checks.size() < 2 ||
        kept.checks[0].cost.units != 0)
      return Later::decide(kept);
    const std::span<Check> all = kept.copy.checks;
    for (const std::span<Check> some : {all.first(1), all.subspan(1)}) {
      kept.copy.checks = some;
      Later::decide(kept);
    }
    kept.copy.checks = all;
    kept.copy.by = all[0].decision.allowed() ? 1 : 0;
  }
};

class TakesWhatIsLeftForACost : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge != nullptr) kept.copy.charge->outside.form = Outside::Form::cost;
    Later::decide(kept);
  }
};

// Of what somebody holds, too: as by an id.
class RefundsWhatIsHeld : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    const bool refunds =
        kept.copy.charge != nullptr && kept.copy.charge->outside.form == Outside::Form::refund;
    if (refunds && std::exchange(held_, 0) > 0) {
      kept.copy.verb = Verb::reset;
      ask_inner(kept.copy, kept.when);
      kept.copy.verb = Verb::charge;
    }
    Later::decide(kept);
    if (kept.copy.verb == Verb::reserve && kept.copy.reservation->hold.count() > 0) ++held_;
  }
  int held_ = 0;
};

// It takes over what is left outside where that is more, too.
class LowersWhatIsOwed : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge != nullptr && kept.copy.charge->outside.form == Outside::Form::remaining) {
      kept.copy.verb = Verb::reset;
      ask_inner(kept.copy, kept.when);
      kept.copy.verb = Verb::charge;
    }
    Later::decide(kept);
  }
};

class DropsNothing : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.charge != nullptr) kept.copy.charge->outside.overdraft = nanoseconds::max();
    Later::decide(kept);
  }
};

class TakesTheLeast : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.take != nullptr) kept.copy.take->most = kept.copy.take->least;
    Later::decide(kept);
  }
};

class HoldsForever : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    ReservationTerms* const asked = kept.copy.reservation;
    if (asked != nullptr && asked->hold.count() > 0) asked->hold = std::chrono::hours{1};
    Later::decide(kept);
  }
};

class HoldsAnyNumber : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    for (Limit& limit : kept.limits) limit.holding.at_most = ~std::uint64_t{0};
    Later::decide(kept);
  }
};

// After a reset the key is asked for under another name, so what was charged to it is still there to go back.
class ResetsForgetNoReservation : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb == Verb::reset) {
      for (const Check& check : kept.checks) ++resets_[std::string(check.key)];
      kept.copy.forgotten = 1;
      return;
    }
    for (Check& check : kept.checks)
      check.key =
          kept.keys.emplace_back(std::string(check.key) + std::string(resets_[std::string(check.key)], '+'));
    Later::decide(kept);
  }
  std::map<std::string, std::size_t> resets_;
};

// Acquires are answered before their moment.
class AnswersAcquiresAtOnce : public Later {
  using Later::Later;
  void decide(Kept& kept) override {
    if (kept.copy.verb == Verb::acquire) kept.copy.verb = Verb::reserve;
    Later::decide(kept);
  }
};
class HastyWorld : public LaterWorld<AnswersAcquiresAtOnce> {
 public:
  bool lets_wait() const override { return true; }
};

// The moment of one that has gone away stays taken.
class KeepsThePlaceOfWhoLeft : public AcquiringWorld {
 public:
  KeepsThePlaceOfWhoLeft() : AcquiringWorld(std::make_unique<LaterWorld<KeepsWhatWasCancelled>>()) {}
};

// What is silent stays without an answer, whatever the asker's patience.
class ForgetsPatienceWorld : public LaterWorld<> {
 public:
  bool fall_silent() override { return silent_ = true; }
  void settle() override {
    if (!silent_) LaterWorld::settle();
  }

 private:
  bool silent_ = false;
};

}  // namespace weir::store::conformance
