// Who acts when, of those in line who ask for the same keys, beside the ledger's model: the plan of the first
// in line is a reservation of the model, made again after whatever happens. Beside them others check,
// reserve, settle for less or more, charge from outside and pause. One that is denied before its time is over
// could not have acted in time, had all that was held given everything back. WEIR_LONG=1 takes more;
// WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agreement/ledger_model.hpp"
#include "conformance/simulated_redis.hpp"
#include "core/chance_test.hpp"
#include "lines/server.hpp"

namespace weir::inline v0_1::lines {
namespace {

using oracle::LedgerModel;
using store::Request;
using store::Verb;
using store::conformance::SimulatedRedis;

constexpr std::int64_t kForever = std::int64_t{1} << 46;

// One that waits, or holds, or was told a moment.
struct Caller : Request {
  std::size_t number = 0;
  LedgerModel::Asks asks{};
  std::vector<store::Check> all{};
  store::ReservationTerms terms{};
  std::int64_t deadline = 0;
  std::int64_t answered = -1;  // when
  // As the model has it.
  std::size_t id = LedgerModel::kNone;
  std::int64_t ends = -1;  // when it acts, or its time is over
  bool acts = false;
  const Server* server = nullptr;
};

class Trace {
 public:
  Trace(core::Chance& chance, Server& server, std::int64_t tick, int number)
      : chance_(chance),
        server_(server),
        tick_(tick),
        key_(std::to_string(number)),
        model_(some_limits(), tick) {
    for (std::size_t i = 0; i < model_.limits().size(); ++i) {
      const LedgerModel::Limit& each = model_.limits()[i];
      limits_.push_back({.rule = {Quota::make({1, nanoseconds{each.interval}}, each.most).value()},
                         .id = 1 + i,
                         .name = std::array{"first", "second"}.at(i)});
      said += "limit " + std::to_string(i) + ": burst " + std::to_string(each.most) + " T " +
              std::to_string(each.interval) + "\n";
    }
    most_tick_ = 1 + chance.up_to(12);
    longest_ = 1 + chance.up_to(60);
    pauses_ = chance.up_to(2) == 0;
    charges_ = chance.up_to(2) == 0;
  }
  ~Trace() {
    for (const auto& each : callers_)
      if (each->state == Request::State::submitted) server_.line().cancel(*each);
  }

  void step() {
    const std::int64_t what = chance_.up_to(17);
    if (what < 6) {
      pass(tick_ * chance_.up_to(most_tick_));
    } else if (what < 10) {
      acquire();
    } else if (what < 12) {
      check();
    } else if (what < 13) {
      reserve();
    } else if (what < 16) {
      settle();
    } else if (what < 17) {
      leave();
    } else if (pauses_) {
      pause();
    } else if (charges_) {
      charge();
    } else if (chance_.up_to(4) == 0) {
      reset();
    }
    compare();
  }

  std::string said;

 private:
  std::vector<LedgerModel::Limit> some_limits() {
    std::vector<LedgerModel::Limit> limits;
    for (std::int64_t i = chance_.up_to(1); i >= 0; --i)
      limits.push_back({.most = 1 + chance_.up_to(5), .interval = tick_ * (1 + chance_.up_to(3))});
    return limits;
  }
  std::int64_t now() const { return server_.now().count(); }
  void say(const std::string& what) { said += std::to_string(now()) + ": " + what + "\n"; }
  std::int64_t cost(std::size_t i) { return 1 + chance_.up_to(model_.limits()[i].most - 1); }
  LedgerModel::Asks of_all() {
    LedgerModel::Asks asks;
    for (std::size_t i = 0; i < limits_.size(); ++i) asks.push_back({.key = i, .cost = cost(i)});
    return asks;
  }
  std::int64_t some_time() { return tick_ * chance_.up_to(longest_); }
  static std::string text(const LedgerModel::Asks& asks) {
    std::string text;
    for (const LedgerModel::Ask& each : asks)
      text += " " + std::to_string(each.cost) + " of " + std::to_string(each.key);
    return text;
  }

  Caller& make(Verb verb, LedgerModel::Asks asks, store::ReservationTerms terms = {}) {
    callers_.push_back(std::make_unique<Caller>());
    Caller& caller = *callers_.back();
    caller.number = callers_.size() - 1;
    caller.asks = std::move(asks);
    for (const LedgerModel::Ask& each : caller.asks)
      caller.all.push_back(
          {.limit = &limits_[each.key], .key = key_, .cost = Cost{static_cast<std::uint64_t>(each.cost)}});
    caller.checks = caller.all;
    caller.verb = verb;
    caller.terms = std::move(terms);
    caller.reservation = &caller.terms;
    caller.server = &server_;
    caller.on_answer = [](Request& request) {
      auto& self = static_cast<Caller&>(request);
      self.answered = self.server->now().count();
    };
    return caller;
  }
  void submit(Caller& caller) {
    Request* const one = &caller;
    server_.line().submit({&one, 1}, {server_.now(), server_.now()});
    if (caller.state == Request::State::answered) caller.on_answer(caller);
    server_.settle();
  }

  // ------------------------------------------------------------------------------------------- the model

  // Each plan is taken back, and made again by what there is now.
  void plan() {
    while (!line_.empty()) {
      Caller& first = *line_.front();
      if (plan_ != LedgerModel::kNone && model_.is_ahead(plan_, now())) model_.cancel(plan_, now());
      const LedgerModel::Told told = model_.reserve(first.asks, now(), kForever, first.terms.hold.count());
      plan_ = told.wait > 0 ? told.id : LedgerModel::kNone;
      planned_ = now() + told.wait;
      if (planned_ > now()) return;
      act(first, told.id);
    }
  }
  void act(Caller& caller, std::size_t id) {
    caller.ends = now();
    caller.acts = true;
    caller.id = id;
    if (caller.terms.hold.count() > 0) held_.push_back(&caller);
    std::erase(line_, &caller);
    plan_ = LedgerModel::kNone;
    say(std::to_string(caller.number) + " acts");
  }

  void remove(Caller& caller) {
    if (&caller == line_.front() && plan_ != LedgerModel::kNone) {
      model_.cancel(plan_, now());
      plan_ = LedgerModel::kNone;
    }
    std::erase(line_, &caller);
  }
  void end_late() {
    for (Caller* const each : std::vector<Caller*>(line_)) {
      if (each->deadline > now()) continue;
      say(std::to_string(each->number) + " has no more time");
      each->ends = now();
      remove(*each);
    }
    plan();
  }
  // Planned after those before it, whatever is held may give back counted as given back.
  bool may_be_in_time(const Caller& caller) const {
    LedgerModel then = model_;
    if (plan_ != LedgerModel::kNone) then.cancel(plan_, now());
    for (const Caller* const each : held_) {
      then.cancel(each->id, now());
      then.settle(each->id, 0, std::nullopt, now(), 0);
    }
    for (const Caller* const each : line_) {
      if (each == &caller) break;
      if (each->terms.hold.count() == 0) then.reserve(each->asks, now(), kForever, 0);
    }
    const LedgerModel::Told told = then.reserve(caller.asks, now(), kForever, 0);
    return now() + told.wait <= caller.deadline;
  }

  // Those that are denied before their time is over.
  void look() {
    const std::vector<Caller*> all = line_;
    for (Caller* const each : all) {
      if (each->answered < 0 || each->allowed()) continue;
      say(std::to_string(each->number) + " is denied");
      EXPECT_FALSE(now() < each->deadline && may_be_in_time(*each));
      each->ends = now();
      remove(*each);
      plan();
    }
  }

  // ---------------------------------------------------------------------------------------- what happens

  void pass(std::int64_t time) {
    const std::int64_t until = now() + time;
    while (!line_.empty()) {
      std::int64_t next = planned_;
      for (const Caller* const each : line_) next = std::min(next, each->deadline);
      if (next > until) break;
      server_.advance(nanoseconds{next - now()});
      if (next == planned_) {
        if (model_.moment(plan_, now()) < 0)
          plan_ = LedgerModel::kNone;  // a pause lies over it
        else
          act(*line_.front(), plan_);
        plan();
      }
      end_late();
      look();
    }
    server_.advance(nanoseconds{until - now()});
  }
  void acquire() {
    const std::int64_t hold = chance_.up_to(1) == 0 ? tick_ + some_time() : 0;
    Caller& caller = make(Verb::acquire, of_all(), {.hold = nanoseconds{hold}});
    std::int64_t wait = pauses_ || chance_.up_to(1) == 0 ? kForever : some_time();
    // Of two whose time is over at once either may leave its room to the other.
    const auto is_theirs = [&](const Caller* each) { return each->deadline == now() + wait; };
    while (std::any_of(line_.begin(), line_.end(), is_theirs)) wait += tick_;
    caller.terms.max_wait = nanoseconds{wait};
    caller.deadline = now() + wait;
    say(std::to_string(caller.number) + " comes for" + text(caller.asks) +
        (hold > 0 ? ", holds for " + std::to_string(hold) : "") +
        (wait < kForever ? ", waits for " + std::to_string(wait) : ""));
    submit(caller);
    line_.push_back(&caller);
    if (caller.answered < 0 || caller.allowed()) plan();
  }
  void check() {
    LedgerModel::Asks asks;
    for (std::size_t i = 0; i < limits_.size(); ++i)
      if (chance_.up_to(1) == 0) asks.push_back({.key = i, .cost = cost(i)});
    if (asks.empty()) return;
    Caller& caller = make(Verb::check, asks);
    submit(caller);
    const bool allowed = model_.check(asks, now()).kind == LedgerModel::Kind::allowed;
    say("check of" + text(asks) + (allowed ? " is allowed" : " is denied"));
    EXPECT_EQ(caller.allowed(), allowed);
    plan();
  }
  // Told a moment where nobody waits; else it acts now, or not.
  void reserve() {
    const std::int64_t wait = line_.empty() ? some_time() : 0, hold = tick_ + some_time();
    Caller& caller =
        make(Verb::reserve, of_all(), {.max_wait = nanoseconds{wait}, .hold = nanoseconds{hold}});
    submit(caller);
    const LedgerModel::Told told = model_.reserve(caller.asks, now(), wait, hold);
    const bool granted = told.kind == LedgerModel::Kind::allowed;
    say(std::to_string(caller.number) + " reserves" + text(caller.asks) + ", waits " +
        std::to_string(told.wait) + (granted ? "" : ", denied"));
    EXPECT_EQ(caller.charged, granted);
    if (granted) {
      EXPECT_EQ(caller.terms.wait.count(), told.wait);
      caller.id = told.id;
      held_.push_back(&caller);
    }
    plan();
  }
  // Or cancels, before its moment.
  void settle() {
    if (held_.empty()) return;
    const std::size_t which = chance_() % held_.size();
    Caller& call = *held_[which];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool ahead = model_.is_ahead(call.id, now());
    Caller& caller = make(ahead ? Verb::cancel : Verb::settle, {}, {.id = call.terms.id});
    const std::int64_t actual = chance_.up_to(4);
    if (!ahead) caller.terms.actual = static_cast<std::uint64_t>(actual);
    say((ahead ? "cancel " : "settle ") + std::to_string(call.number) +
        (ahead ? "" : " at " + std::to_string(actual)));
    if (ahead)
      model_.cancel(call.id, now());
    else
      model_.settle(call.id, actual, std::nullopt, now(), 86'400'000'000'000);
    plan();
    submit(caller);
  }
  void leave() {
    if (line_.empty()) return;
    Caller& caller = *line_[chance_() % line_.size()];
    say(std::to_string(caller.number) + " leaves");
    remove(caller);
    plan();
    server_.line().cancel(caller);
    server_.settle();
  }
  void pause() {
    const std::size_t i = chance_() % limits_.size();
    const std::int64_t length = tick_ + some_time();
    const bool afresh = chance_.up_to(2) == 0;
    say("pause of " + std::to_string(i) + " for " + std::to_string(length) + (afresh ? ", then afresh" : ""));
    report(i, 1, Outside(Pause{nanoseconds{length}, afresh}));
    const auto form = afresh ? LedgerModel::Form::afresh : LedgerModel::Form::pause;
    model_.charge({.key = i, .cost = length}, form, now(), 0);
    plan();
  }
  void charge() {
    const std::size_t i = chance_() % limits_.size();
    const std::int64_t units = 1 + chance_.up_to(3);
    const bool back = chance_.up_to(2) == 0;
    const Cost cost{static_cast<std::uint64_t>(units)};
    say((back ? "refund of " : "charge of ") + std::to_string(units) + " at " + std::to_string(i));
    const std::int64_t charged =
        back ? model_.refund(i, units, now())
             : model_.charge({.key = i, .cost = units}, LedgerModel::Form::cost, now(), 86'400'000'000'000)
                   .charged;
    plan();
    EXPECT_EQ(report(i, units, back ? detail::refund_of(cost) : Outside(cost)), charged);
  }
  std::int64_t report(std::size_t i, std::int64_t units, const Outside& outside) {
    Caller& caller = make(Verb::charge, {{.key = i, .cost = units}});
    store::ChargeTerms charge{.outside = outside};
    caller.charge = &charge;
    submit(caller);
    return static_cast<std::int64_t>(charge.told.charged);
  }
  void reset() {
    const std::size_t i = chance_() % limits_.size();
    say("reset of " + std::to_string(i));
    model_.reset(i);
    plan();
    submit(make(Verb::reset, {{.key = i, .cost = 1}}));
  }

  void compare() {
    look();
    for (const auto& each : callers_) {
      if (each->verb != Verb::acquire) continue;
      EXPECT_EQ(each->answered, each->ends) << each->number;
      EXPECT_EQ(each->answered >= 0 && each->allowed(), each->acts) << each->number;
    }
  }

  core::Chance& chance_;
  Server& server_;
  const std::int64_t tick_;
  const std::string key_;
  LedgerModel model_;
  std::vector<store::Limit> limits_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<Caller*> line_, held_;
  std::size_t plan_ = LedgerModel::kNone;  // of the first in line
  std::int64_t planned_ = 0;
  std::int64_t most_tick_ = 0, longest_ = 0;
  bool pauses_ = false, charges_ = false;
};

// Times are whole numbers of `tick`.
void play(Server& server, std::int64_t tick, int traces, int steps = 60) {
  core::Chance chance;
  for (int number = 0; number < traces; ++number) {
    Trace trace(chance, server, tick, number);
    for (int step = 0; step < steps; ++step) {
      trace.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "trace " << number << "\n" << trace.said;
    }
    server.advance(nanoseconds{1'000 * tick});
  }
}

TEST(LinesAgreement, in_a_process_each_acts_when_the_model_says) {
  Server server;
  play(server, 1, core::Chance::is_long() ? 1'000'000 : 20'000);
}

// What this server asks it knows at once.
TEST(LinesAgreement, before_a_redis_each_acts_when_the_model_says) {
  SimulatedRedis redis;
  Server server(redis, nanoseconds{0});
  play(server, 1'000'000, core::Chance::is_long() ? 5'000 : 200);
}

}  // namespace
}  // namespace weir::lines
