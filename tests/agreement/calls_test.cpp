// The life of a call in a store of this process, answer by answer, beside a model of it (calls.hpp): random
// traces of every verb over one to three limits, rates and slots, whose numbers change. In each trace the
// promise at the moments of acting, too, and never more open holds than there are slots. WEIR_LONG=1 takes
// 10^6 traces; WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agreement/calls.hpp"
#include "agreement/spans.hpp"
#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::calls_test {
namespace {

using oracle::Calls;
using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;

// What the store is asked, of one key under each limit.
class Called {
 public:
  struct Question {
    Verb verb;
    std::vector<Calls::Ask> asks{};
    std::int64_t now = 0;
  };

  void change(std::size_t i, const Calls::Limit& to) {
    if (limits_.size() <= i) limits_.resize(i + 1, {.rule = {Quota::per_second(1)}});
    store::Limit& limit = limits_[i];
    if (to.slots) {
      limit.rule = core::Rule::slots(std::to_string(to.most)).value();
    } else {
      limit.rule = {Quota::make({1, nanoseconds{to.interval}}, to.most).value()};
    }
    limit.id = 1 + i + (to.slots ? 100 : 0);
    limit.name = std::array{"first", "second", "third"}[i];
    limit.penalty = {.time = nanoseconds{to.penalty},
                     .growing = static_cast<std::uint32_t>(1000 * to.growing / to.whole),
                     .most = nanoseconds{to.most_penalty}};
  }
  void next_key(int number) {
    key_ = std::to_string(number);
    limits_.clear();
  }

  // Asks, and leaves what was said in `request`, `checks` and the terms.
  void ask(const Question& question) {
    checks.clear();
    for (const Calls::Ask& each : question.asks)
      checks.push_back(
          {.limit = &limits_[each.limit], .key = key_, .cost = Cost{static_cast<std::uint64_t>(each.cost)}});
    request = {.checks = checks, .verb = question.verb};
    request.reservation = &reservation;
    request.charge = &charge;
    request.take = &take;
    Request* const batch[] = {&request};
    store_.submit(batch, {nanoseconds{question.now}, nanoseconds{question.now}});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
  }

  std::vector<Check> checks;
  Request request;
  store::ReservationTerms reservation;
  store::ChargeTerms charge;
  store::TakeTerms take;

 private:
  store::EmbeddedStore store_{std::size_t{8} << 20};
  std::vector<store::Limit> limits_;
  std::string key_;
};

class CallsTrace {
 public:
  CallsTrace(core::Chance& chance, Called& store, std::int64_t& now, int number, bool pauses)
      : chance_(chance), store_(store), now_(now), pauses_(pauses), model_(some_limits(chance, pauses)) {
    store_.next_key(number);
    for (std::size_t i = 0; i < model_.limits().size(); ++i) change(i, model_.limits()[i]);
    refunds_ = chance.up_to(3) == 0;
    most_tick_ = 1 + chance.up_to(20'000);
    longest_ = 1 + chance.up_to(100'000);
  }

  void step() {
    if (over_) return;
    switch (chance_.up_to(19)) {
      case 0:
      case 1:
      case 2:
      case 3:
        now_ += chance_.up_to(most_tick_);
        return;
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        return reserve();
      case 9:
      case 10:
        return check();
      case 11:
        return take();
      case 12:
        return charge();
      case 13:
        return pauses_ && chance_.up_to(1) == 0 ? pause() : refund();
      case 14:
        return cancel();
      case 15:
      case 16:
        return settle();
      case 17:
        return extend();
      case 18:
        return chance_.up_to(9) == 0 ? reset() : look();
      default:
        if (chance_.up_to(2) == 0) {
          const std::size_t i = any();
          change(i, some_limit(chance_, model_.limits()[i].slots, pauses_));
        }
        for (std::size_t id = 0; id < ids_.size(); ++id) moment(id);
    }
  }

  // At the moments of acting; of a trace that refunds nothing.
  bool is_kept() const {
    if (refunded_) return true;
    auto all = acts_;
    for (std::size_t id = 0; id < ids_.size(); ++id) {
      if (cancelled_.contains(id)) continue;
      const Calls::Call& call = model_.calls()[id];
      for (std::size_t i = 0; i < call.parts.size(); ++i)
        if (!call.parts[i].dead)
          all[{call.parts[i].limit, versions_[id]}].push_back({call.parts[i].moment, costs_[id][i]});
    }
    for (auto& [of, acts] : all) {
      std::sort(acts.begin(), acts.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
      const Calls::Limit& limit = numbers_.at(of);
      if (!limit.slots && !kept(acts, limit.most * limit.interval, 1)) return false;
    }
    return true;
  }

  std::string said;

 private:
  static Calls::Limit some_limit(core::Chance& chance, bool slots, bool pauses) {
    if (slots) return {true, 1 + chance.up_to(3), 1, 0};
    const std::int64_t interval = (1 + chance.up_to(4)) * 3'701;
    Calls::Limit made{false, 1 + chance.up_to(5), interval,
                      pauses && chance.up_to(2) == 0 ? 1 + chance.up_to(50'000) : 0};
    if (made.penalty == 0 || chance.up_to(1) == 0) return made;
    made.growing = 2 + chance.up_to(1);
    made.whole = 1 + chance.up_to(made.growing - 2);
    made.most_penalty = made.penalty * (1 + chance.up_to(9));
    return made;
  }
  static std::vector<Calls::Limit> some_limits(core::Chance& chance, bool pauses) {
    std::vector<Calls::Limit> limits{some_limit(chance, chance.up_to(9) == 0, pauses)};
    for (std::int64_t more = chance.up_to(2); more > 0; --more)
      limits.push_back(some_limit(chance, chance.up_to(1) == 0, pauses));
    return limits;
  }

  std::size_t any() { return chance_() % model_.limits().size(); }
  bool is_slots(std::size_t i) const { return model_.limits()[i].slots; }
  void change(std::size_t i, const Calls::Limit& to) {
    said += at() + "limit " + std::to_string(i) + (to.slots ? " slots " : " burst ") +
            std::to_string(to.most) + " T " + std::to_string(to.interval) + " penalty " +
            std::to_string(to.penalty) + " growing " + std::to_string(to.growing) + "/" +
            std::to_string(to.whole) + " to " + std::to_string(to.most_penalty) + "\n";
    model_.change(i, to);
    store_.change(i, to);
    ++version_;
    for (std::size_t each = 0; each < model_.limits().size(); ++each)
      numbers_[{each, version_}] = model_.limits()[each];
  }
  std::string at() const { return std::to_string(now_) + ": "; }

  std::vector<Calls::Ask> some(bool slots) {
    std::vector<Calls::Ask> asks;
    for (std::size_t i = 0; i < model_.limits().size(); ++i)
      if ((slots || !is_slots(i)) && chance_.up_to(2) != 0) asks.push_back({i, cost(i)});
    return asks;
  }
  std::int64_t cost(std::size_t i) {
    return is_slots(i) ? 1 : 1 + chance_.up_to(model_.limits()[i].most - 1 + (chance_.up_to(30) == 0));
  }
  static std::string text(const std::vector<Calls::Ask>& asks) {
    std::string text;
    for (const Calls::Ask& each : asks)
      text += " " + std::to_string(each.cost) + " of " + std::to_string(each.limit);
    return text;
  }

  void same(const std::string& what, const std::string& store, const std::string& model) {
    said += at() + what + "\n   " + store + "\n";
    EXPECT_EQ(store, model) << what;
  }
  std::string told(bool waits) const {
    constexpr std::array kNames{"allowed", "denied", "never"};
    const Decision& decision = store_.request.decision();
    const bool busy = decision.verdict == Verdict::busy;
    const std::int64_t wait = waits                  ? store_.reservation.wait.count()
                              : decision.allowed()   ? 0
                              : decision.retry_after ? decision.retry_after->count()
                                                     : -1;
    if (store_.request.charged) return "allowed " + std::to_string(wait);
    return std::string(wait < 0            ? kNames[2]
                       : busy || is_busy() ? "busy"
                                           : kNames[1]) +
           " " + std::to_string(wait);
  }
  bool is_busy() const {
    return std::any_of(store_.checks.begin(), store_.checks.end(),
                       [](const Check& each) { return each.decision.verdict == Verdict::busy; });
  }
  std::string told(const Calls::Told& each) const {
    return std::string(
               std::array{"allowed", "denied", "never", "busy"}[static_cast<std::size_t>(each.kind)]) +
           " " + std::to_string(each.wait);
  }

  void act(const std::vector<Calls::Ask>& asks, std::int64_t moment) {
    for (const Calls::Ask& each : asks)
      if (!is_slots(each.limit))
        acts_[{each.limit, version_}].push_back({moment, each.cost * model_.limits()[each.limit].interval});
  }

  void check() {
    const auto asks = some(false);
    if (asks.empty()) return;
    store_.ask({Verb::check, asks, now_});
    const Calls::Told model = model_.check(asks, now_);
    same("check" + text(asks), told(false), told(model));
    if (model.kind == Calls::Kind::allowed) act(asks, now_);
  }

  void take() {
    auto asks = some(false);
    if (asks.empty()) return;
    const std::int64_t most = 1 + chance_.up_to(5), least = 1 + chance_.up_to(most - 1);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      asks[i].cost = 1 + chance_.up_to(1);
      store_.take.unit[i] = static_cast<std::uint64_t>(asks[i].cost);
    }
    store_.take.most = static_cast<std::uint64_t>(most);
    store_.take.least = static_cast<std::uint64_t>(least);
    store_.ask({Verb::take, asks, now_});
    const Calls::Told model = model_.take(most, least, asks, now_);
    same("take " + std::to_string(least) + " to " + std::to_string(most) + " of" + text(asks),
         told(false) + " units " + std::to_string(store_.take.granted),
         told(model) + " units " + std::to_string(model.units));
    for (Calls::Ask& each : asks) each.cost *= model.units;
    if (model.units > 0) act(asks, now_);
  }

  void reserve() {
    const auto asks = some(true);
    if (asks.empty()) return;
    const auto rates = std::count_if(asks.begin(), asks.end(),
                                     [&](const Calls::Ask& each) { return !is_slots(each.limit); });
    const bool holds = rates < static_cast<std::ptrdiff_t>(asks.size()) || chance_.up_to(1) == 0;
    const std::int64_t max_wait = rates > 1 || chance_.up_to(2) == 0 ? 0 : chance_.up_to(longest_);
    const std::int64_t hold = holds ? 1 + chance_.up_to(longest_) : 0;
    store_.reservation = {.max_wait = nanoseconds{max_wait}, .hold = nanoseconds{hold}};
    store_.ask({Verb::reserve, asks, now_});
    const Calls::Told model = model_.reserve(asks, now_, max_wait, hold);
    const std::string id = store_.reservation.id;
    same("reserve" + text(asks) + " max_wait " + std::to_string(max_wait) + " hold " + std::to_string(hold) +
             (model.id ? ", number " + std::to_string(ids_.size()) : ""),
         told(true) + (id.empty() ? "" : " id"), told(model) + (model.id ? " id" : ""));
    if (!model.id) {
      if (model.kind == Calls::Kind::allowed) act(asks, now_);
      return;
    }
    ids_.push_back(id);
    versions_.push_back(version_);
    costs_.emplace_back();
    for (const Calls::Part& each : model_.calls().back().parts)
      costs_.back().push_back(each.cost * each.interval);
    for (const Calls::Ask& each : asks) {
      if (!is_slots(each.limit)) continue;
      EXPECT_LE(model_.open(each.limit, now_), model_.limits()[each.limit].most) << "more than N are open";
    }
  }

  void charge() {
    auto asks = some(false);
    if (asks.empty()) return;
    const bool remaining = chance_.up_to(2) == 0;
    if (remaining) asks.resize(1);
    if (remaining) asks[0].cost = chance_.up_to(6);
    if (!remaining && chance_.up_to(3) == 0) asks[0].cost = chance_.up_to(20);
    const std::int64_t overdraft = chance_.up_to(2) == 0 ? chance_.up_to(50'000) : 1'000'000'000;
    store_.charge = {};
    store_.charge.outside = Outside(remaining ? Outside::Form::remaining : Outside::Form::cost,
                                    static_cast<std::uint64_t>(asks[0].cost), nanoseconds{overdraft});
    store_.ask({Verb::charge, asks, now_});
    const auto model =
        model_.charge(asks, remaining ? Calls::Form::remaining : Calls::Form::cost, now_, overdraft);
    same((remaining ? "remaining" : "charge") + text(asks) + " overdraft " + std::to_string(overdraft),
         text(store_.charge.told), text(model));
  }
  void pause() {
    const std::size_t i = any();
    if (is_slots(i)) return;
    const std::int64_t length = chance_.up_to(5) == 0 ? 0 : 1 + chance_.up_to(100'000);
    store_.charge = {};
    store_.charge.outside = Outside(Pause{nanoseconds{length}});
    store_.ask({Verb::charge, {{i, 1}}, now_});
    // One of no length moves nobody: one unit remains.
    const auto model = length == 0 ? model_.charge({{i, 1}}, Calls::Form::remaining, now_, 0)
                                   : model_.charge({{i, length}}, Calls::Form::pause, now_, 0);
    same("pause " + std::to_string(i) + " for " + std::to_string(length), text(store_.charge.told),
         text(model));
  }
  static std::string text(const weir::Charged& told) {
    return text(Calls::Charged{static_cast<std::int64_t>(told.charged),
                               static_cast<std::int64_t>(told.overdraft), told.wait.count(),
                               told.reset_after.count(), static_cast<std::int64_t>(told.dropped)});
  }
  static std::string text(const Calls::Charged& told) {
    return "charged " + std::to_string(told.charged) + " owed " + std::to_string(told.overdraft) + " wait " +
           std::to_string(told.wait) + " reset " + std::to_string(told.reset_after) + " dropped " +
           std::to_string(told.dropped);
  }

  void refund() {
    const std::size_t i = any();
    if (!refunds_ || is_slots(i)) return;
    refunded_ = true;
    const std::int64_t units = 1 + chance_.up_to(5);
    store_.charge = {};
    store_.charge.outside = detail::refund_of(Cost{static_cast<std::uint64_t>(units)});
    store_.ask({Verb::charge, {{i, units}}, now_});
    const auto back = static_cast<std::int64_t>(store_.charge.told.charged);
    const std::int64_t at_most = model_.refund(i, units, now_);
    said += at() + "refund " + std::to_string(units) + " of " + std::to_string(i) + "\n   " +
            std::to_string(back) + "\n";
    // Less where it cannot know what was charged after those who wait; the two then differ from there on.
    EXPECT_LE(back, at_most);
    over_ = back != at_most;
  }

  bool ask_of(Verb verb, std::size_t id) {
    store_.reservation.id = ids_[id];
    store_.ask({verb, {}, now_});
    return true;
  }
  void cancel() {
    if (ids_.empty()) return;
    const std::size_t id = chance_() % ids_.size();
    if (!model_.can_cancel(id, now_)) return;
    const bool is_ahead = model_.is_ahead(id, now_) && model_.moment(id, now_) > 0;
    store_.reservation = {};
    ask_of(Verb::cancel, id);
    if (is_ahead) cancelled_.insert(id);
    same("cancel number " + std::to_string(id), std::to_string(store_.reservation.given_back),
         std::to_string(model_.cancel(id, now_)));
  }
  void settle() {
    if (ids_.empty()) return;
    const std::size_t id = chance_() % ids_.size();
    std::optional<std::int64_t> actual = chance_.up_to(8);
    if (chance_.up_to(4) == 0) actual.reset();
    if (!model_.can_settle(id, actual.value_or(9), now_)) return;
    const std::int64_t overdraft = chance_.up_to(2) == 0 ? chance_.up_to(50'000) : 1'000'000'000;
    store_.reservation = {.overdraft = nanoseconds{overdraft}};
    if (actual) store_.reservation.actual = static_cast<std::uint64_t>(*actual);
    ask_of(Verb::settle, id);
    if (model_.is_open(id, now_) && actual)
      for (std::size_t i = 0; i < costs_[id].size(); ++i)
        costs_[id][i] = std::min(costs_[id][i], *actual * model_.calls()[id].parts[i].interval);
    const Calls::Settled model = model_.settle(id, actual, now_, overdraft);
    same("settle number " + std::to_string(id) + " at " + (actual ? std::to_string(*actual) : "nothing said"),
         std::to_string(store_.reservation.wait.count()) + " dropped " +
             std::to_string(store_.reservation.dropped),
         std::to_string(model.wait) + " dropped " + std::to_string(model.dropped));
  }
  void extend() {
    if (ids_.empty()) return;
    const std::size_t id = chance_() % ids_.size();
    const std::int64_t hold = chance_.up_to(longest_);
    store_.reservation = {.hold = nanoseconds{hold}};
    ask_of(Verb::extend, id);
    same("extend number " + std::to_string(id) + " to " + std::to_string(hold),
         std::to_string(store_.reservation.wait.count()), std::to_string(model_.extend(id, hold, now_)));
  }
  void moment(std::size_t id) {
    // Of one that has acted without a hold, and was forgotten after that, both answers may be told.
    if (model_.is_forgotten(id) && !model_.calls()[id].held) return;
    store_.reservation = {};
    ask_of(Verb::moment, id);
    same("moment of number " + std::to_string(id), std::to_string(store_.reservation.wait.count()),
         std::to_string(model_.moment(id, now_)));
  }
  void look() {
    const std::size_t i = any();
    store_.ask({Verb::look, {{i, 1}}, now_});
    const Decision& told = store_.request.decision();
    const Calls::Looked model = model_.look(i, now_);
    same("look at " + std::to_string(i),
         std::to_string(told.remaining) + " reset " + std::to_string(told.reset_after.count()),
         std::to_string(model.remaining) + " reset " + std::to_string(model.reset_after));
  }
  void reset() {
    std::vector<Calls::Ask> all;
    for (std::size_t i = 0; i < model_.limits().size(); ++i) all.push_back({i, 1});
    store_.ask({Verb::reset, all, now_});
    model_.reset();
    acts_.clear();
    said += at() + "reset\n";
  }

  core::Chance& chance_;
  Called& store_;
  std::int64_t& now_;
  const bool pauses_;
  Calls model_;
  bool refunds_, refunded_ = false, over_ = false;
  std::int64_t most_tick_, longest_;
  int version_ = 0;                                                    // of the numbers
  std::map<std::pair<std::size_t, int>, Calls::Limit> numbers_;        // by limit and version
  std::map<std::pair<std::size_t, int>, std::vector<Admitted>> acts_;  // of those without an id
  std::vector<std::string> ids_;                                       // by the model's number
  std::vector<int> versions_;                                          // the same
  std::vector<std::vector<std::int64_t>> costs_;                       // the same, by part
  std::set<std::size_t> cancelled_;
};

void run(core::Chance& chance, int traces, bool pauses) {
  Called store;
  std::int64_t now = 1'000'000'000'000'000;
  for (int number = 0; number < traces; ++number) {
    CallsTrace trace(chance, store, now, number, pauses);
    for (int step = 0; step < 40; ++step) {
      trace.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "trace " << number << "\n" << trace.said;
    }
    ASSERT_TRUE(trace.is_kept()) << "trace " << number << "\n" << trace.said;
    now += 1'000'000;
  }
}

TEST(CallsAgreement, every_answer_is_the_models_and_the_promise_is_kept) {
  core::Chance chance;
  run(chance, std::getenv("WEIR_LONG") != nullptr ? 1'000'000 : 20'000, false);
}

TEST(CallsAgreement, it_is_so_with_pauses_and_penalties) {
  core::Chance chance(1);
  run(chance, std::getenv("WEIR_LONG") != nullptr ? 1'000'000 : 20'000, true);
}

}  // namespace
}  // namespace weir::calls_test
