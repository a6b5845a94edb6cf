// weir::Limiter, as a world: a limiter for each limit and key, asked as a store is.
//
// What it has no call for ends the property that asks it, which is then skipped.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/not_here.hpp"
#include "conformance/world.hpp"
#include "core/set_clock_test.hpp"
#include "store/charging.hpp"
#include "store/check_rules.hpp"
#include "store/settlement.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::store::conformance {

class LimiterStore final : public Store {
 public:
  void submit(std::span<Request* const> batch, Arrival when) override {
    SetClock::time = when.now;
    for (Request* const request : batch) {
      request->fault = Fault::none;
      request->source = Source::store;
      request->charged = false;
      request->by = 0;
      request->charged_at = when.now;
      decide(*request, when.now);
      request->state = Request::State::answered;
    }
  }
  void cancel(Request&) override {}
  void give_back(const Request& charged, nanoseconds) override {
    if (charged.charged) throw NotHere("a limiter gives nothing back but by a reservation");
  }

 private:
  struct Kept {
    Limiter* limiter;
    Reservation reservation;
    std::uint64_t limit;
  };

  void decide(Request& request, nanoseconds now) {
    switch (request.verb) {
      case Verb::check:
        return check(request);
      case Verb::look:
        return look(alone(request));
      case Verb::take:
        return take(request);
      case Verb::charge:
        return charge(request);
      case Verb::reset:
        return reset(request);
      case Verb::reserve:
        return reserve(request);
      case Verb::moment:
      case Verb::cancel:
      case Verb::settle:
      case Verb::extend:
        return ask_kept(request, now);
      case Verb::acquire:
        return refuse(request, "nobody waits here");
      case Verb::holds:
        break;
    }
    throw NotHere("a limiter does not list its holds");
  }

  Limiter& limiter_of(const Check& check) {
    const Limit& limit = *check.limit;
    const bool is_plain = check.is_plain() && limit.rule.algorithm == Algorithm::gcra &&
                          limit.rule.kept.count() == 0 && !limit.penalty && limit.holding.settles &&
                          limit.holding.at_most == Holding{}.at_most &&
                          limit.holding.longest == kLongestExtension;
    if (!is_plain) throw NotHere("a limiter has one limit, by GCRA, and no more");
    std::unique_ptr<Limiter>& made = limiters_[{limit.id, std::string(check.key)}];
    if (!made) made = std::make_unique<Limiter>(limit.rule.quota, kSetClock);
    if (made->quota() != limit.rule.quota) made->set_quota(limit.rule.quota);
    return *made;
  }
  static Check& alone(const Request& request) {
    if (request.checks.size() == 1) return request.checks[0];
    throw NotHere("a limiter is one of one limit");
  }

  void check(Request& request) {
    if (auto why = malformed(request.checks)) return refuse(request, *std::move(why));
    if (request.checks.size() == 1) {
      Check& each = request.checks[0];
      each.decision = limiter_of(each).check(each.cost);
      request.charged = each.decision.allowed();
      return;
    }
    std::vector<LimiterCheck> all;
    for (const Check& each : request.checks) all.push_back({limiter_of(each), each.cost});
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (&all[i].limiter == &all[j].limiter) return refuse(request, "a limiter comes twice");
    for (Check& each : request.checks) look(each);
    const JointDecision both = check_all(all);
    request.charged = both.allowed();
    request.by = static_cast<std::uint8_t>(both.by);
    // Of each other one: what is there then.
    for (std::size_t i = 0; i < all.size(); ++i) {
      Decision& decision = request.checks[i].decision;
      const Decision found = i == both.by ? both.decision : all[i].limiter.check(Cost{0});
      if (i == both.by) decision = found;
      decision.remaining = found.remaining;
      decision.reset_after = found.reset_after;
    }
  }
  // What does not fit is denied, and a denial changes nothing.
  void look(Check& each) {
    Limiter& limiter = limiter_of(each);
    each.decision = limiter.check(Cost{0});
    if (each.cost.units > static_cast<std::uint64_t>(each.decision.remaining))
      each.decision = limiter.check(each.cost);
  }
  void take(Request& request) {
    Check& each = alone(request);
    TakeTerms& terms = *request.take;
    if (terms.unit[0] != 1 || terms.looks) throw NotHere("a limiter takes whole units");
    const Taken taken = limiter_of(each).take_up_to(Cost{terms.most}, Cost{terms.least});
    each.decision = taken.decision;
    terms.granted = taken.granted;
    each.cost = Cost{taken.granted != 0 ? taken.granted : terms.least};
    request.charged = taken.granted != 0;
  }
  void charge(Request& request) {
    ChargeTerms& terms = *request.charge;
    if (auto why = cannot_charge(request.checks, terms)) return refuse(request, *std::move(why));
    if (terms.asks()) throw NotHere("a limiter is told, and not asked, what happened outside");
    Check& each = alone(request);
    Outside outside = terms.outside;
    if (outside.form == Outside::Form::cost || outside.form == Outside::Form::refund)
      outside.units = each.cost.units;
    terms.told = limiter_of(each).charge(outside);
    each.decision = limiter_of(each).check(Cost{0});
    request.charged = true;
  }
  void reset(Request& request) {
    request.forgotten = 0;
    for (const Check& each : request.checks) {
      Limiter& limiter = limiter_of(each);
      request.forgotten += limiter.check(Cost{0}).reset_after.count() > 0 ? 1 : 0;
      limiter.reset();
    }
  }

  void reserve(Request& request) {
    if (auto why = malformed(request.checks)) return refuse(request, *std::move(why));
    Check& each = alone(request);
    ReservationTerms& asked = *request.reservation;
    if (!asked.lines.empty() || asked.bound) throw NotHere("a limiter has no such option");
    Limiter& limiter = limiter_of(each);
    Reservation made = limiter.reserve({asked.max_wait, asked.hold}, each.cost);
    asked.id.clear();
    each.decision = made.decision();
    request.charged = made.granted();
    asked.wait = made.granted() ? made.wait() : each.decision.retry_after.value_or(nanoseconds{-1});
    if (!made.granted() || each.cost.units == 0 || (asked.wait.count() == 0 && asked.hold.count() == 0))
      return;
    asked.id = "limiter-" + std::to_string(++last_id_);
    kept_.emplace(asked.id, Kept{&limiter, std::move(made), each.limit->id});
  }

  void ask_kept(Request& request, nanoseconds now) {
    ReservationTerms& asked = *request.reservation;
    asked.wait = nanoseconds{request.verb == Verb::extend ? 0 : -1};
    asked.given_back = 0;
    asked.dropped = 0;
    const auto found = kept_.find(asked.id);
    if (found == kept_.end()) return;
    auto& [limiter, reservation, limit] = found->second;
    if (request.verb == Verb::moment) {
      if (const auto moment = reservation.moment()) asked.wait = std::max(*moment - now, nanoseconds{0});
    } else if (request.verb == Verb::cancel) {
      asked.given_back = reservation.cancel();
    } else if (request.verb == Verb::extend) {
      asked.wait = reservation.extend(asked.hold);
    } else {
      if (asked.overdraft != Outside{}.overdraft) throw NotHere("a limiter bounds what it settles by 24 h");
      try {
        if (const auto wait = reservation.settle(actual_of(asked, limit))) asked.wait = *wait;
      } catch (const std::invalid_argument&) {
        refuse(request, without_hold());
      }
    }
  }
  static std::optional<std::uint64_t> actual_of(const ReservationTerms& asked, std::uint64_t limit) {
    for (const Actual& each : asked.actuals) {
      if (each.limits != std::vector{limit}) throw NotHere("a limiter settles what it was charged");
      return each.units;
    }
    return asked.actual;
  }

  std::map<std::pair<std::uint64_t, std::string>, std::unique_ptr<Limiter>> limiters_;
  std::map<std::string, Kept> kept_;
  std::uint64_t last_id_ = 0;
};

class LimiterWorld : public World {
 public:
  Store& store() override { return store_; }
  nanoseconds now() const override { return now_; }
  void advance(nanoseconds time) override { now_ += time; }
  void settle() override {}
  bool refuses(const core::Rule& rule) const override { return rule.algorithm != Algorithm::gcra; }
  bool has_slots() const override { return false; }
  // Amid a window of each period.
  nanoseconds wall_ahead() const override { return std::chrono::milliseconds{1'700'000'000'123}; }

 private:
  LimiterStore store_;
  nanoseconds now_ = std::chrono::seconds{1'000'000};
};

}  // namespace weir::store::conformance
