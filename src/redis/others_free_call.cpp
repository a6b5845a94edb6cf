// What is charged only where it is over, once anything is (store::OthersFree). Keys of one slot are asked and
// charged by one call. Those of several slots by one call each that charges nothing, and then by one for each
// slot that has something to charge: meanwhile others may charge the same keys, and then more is charged than
// at one moment.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "redis/charge_script.hpp"
#include "redis/store_calls.hpp"
#include "store/charging.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Request;

namespace {

// A request while its keys are being asked for, slot by slot.
struct OpenOthersFree {
  OpenOthersFree(Request& request, nanoseconds until)
      : ticket(request), deadline(until), terms(*request.charge) {}

  bool has(std::uint16_t bits, std::size_t i) const { return (bits >> i & 1U) != 0; }
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> made(checks.size());
    std::iota(made.begin(), made.end(), std::size_t{0});
    return made;
  }
  // The same terms for some of the checks.
  store::ChargeTerms terms_of(const std::vector<std::size_t>& of) const {
    store::ChargeTerms made = terms;
    const store::OthersFree all = terms.others_free.value_or(store::OthersFree{});
    store::OthersFree some;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto bit = [&](std::uint16_t bits) { return static_cast<std::uint16_t>(has(bits, of[i]) << i); };
      some.if_it_fits |= bit(all.if_it_fits);
      some.leaves_one |= bit(all.leaves_one);
    }
    made.others_free = some;
    return made;
  }

  Ticket ticket;
  nanoseconds deadline;
  store::ChargeTerms terms;
  store::Charging charging{terms};
  std::vector<KeptCheck> checks{};
  std::array<Decision, store::kMostChecks> decisions{};
  std::map<std::uint16_t, std::vector<std::size_t>> slots{};
  std::size_t open = 0;    // calls
  bool recalls = false;    // denials of its checks are remembered
  bool undecided = false;  // nothing is charged, and a slot has not said what it has
  bool local = false;      // the fallback has decided some
  Fault fault = Fault::none;
  std::size_t by = 0;  // with a fault: the check that has it
  std::string why{};
};

class OthersFreeCall final : public StoreCall {
 public:
  enum class Asks : std::uint8_t {
    all,     // find out which are over, and charge
    states,  // charge nothing
    charges  // what is known to be charged
  };

  OthersFreeCall(StoreParts& in, std::shared_ptr<OpenOthersFree> its, Asks asks, std::vector<std::size_t> of)
      : StoreCall(in), its_(std::move(its)), asks_(asks), of_(std::move(of)) {}

  static void send_all(StoreParts& in, const std::shared_ptr<OpenOthersFree>& its, Asks asks,
                       const std::map<std::uint16_t, std::vector<std::size_t>>& slots, nanoseconds now) {
    its->open = slots.size();
    for (const auto& [slot, of] : slots) {
      auto call = std::make_unique<OthersFreeCall>(in, its, asks, of);
      OthersFreeCall& its_call = *call;
      its_call.send(std::move(call), now);
    }
  }

 private:
  void send(std::unique_ptr<Call> self, nanoseconds now) {
    asked_ = now;
    std::vector<ScriptCharge> all = charges();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].ask.rule->calendar != nullptr) all[i].ask.utc = time_there(check(i), now);
    std::string command;
    append_charge(command, all);
    in_.client.call(std::move(self), in_.slot(check(0).name), std::move(command), its_->deadline, now);
  }

  bool charges(std::size_t i) const {
    return asks_ == Asks::all || (asks_ == Asks::charges && its_->charging.charges(i));
  }
  const KeptCheck& check(std::size_t i) const { return its_->checks[of_[i]]; }
  std::vector<ScriptCharge> charges() const {
    const store::OthersFree how = its_->terms.others_free.value_or(store::OthersFree{});
    std::vector<ScriptCharge> made;
    for (const std::size_t i : of_) {
      ScriptCharge& each = made.emplace_back(ScriptCharge{its_->checks[i].ask()});
      Outside outside = its_->terms.outside;
      outside.units = charges(i) ? each.ask.cost.units : 0;
      if (outside.units == 0 || !its_->has(how.if_it_fits, i)) each.outside = outside;
      if (asks_ == Asks::all) each.beyond = its_->has(how.leaves_one, i) ? 1 : 0;
    }
    return made;
  }

  bool has_calendar() const override {
    return std::any_of(of_.begin(), of_.end(),
                       [this](std::size_t i) { return its_->checks[i].limit.rule.calendar != nullptr; });
  }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override { send(std::move(self), now); }
  void heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) override {
    if (result.cause == Cause::none) {
      in_.known.hear_clock(*result.value, asked_, now);
      read(*result.value, now);
    } else {
      fail(result.cause, std::string(result.error), now);
    }
    if (--its_->open > 0) return;
    if (its_->undecided) {
      its_->charging.over = 0;
      decide_here(its_->all(), now);
    }
    if (asks_ != Asks::states || its_->local || its_->fault != Fault::none || its_->ticket.cancelled())
      return conclude();
    // One that is not charged may have the key of one that is, and tells what that has left.
    auto slots = its_->slots;
    std::erase_if(slots, [this](const auto& each) {
      return std::none_of(each.second.begin(), each.second.end(),
                          [this](std::size_t i) { return its_->charging.charges(i); });
    });
    send_all(in_, its_, Asks::charges, slots, now);
  }

  void read(const resp::Value& value, nanoseconds now) {
    ChargedStates states;
    if (auto why = read_states(value, charges(), states)) return fail(Cause::other, *std::move(why), now);
    in_.tally.decided(now);
    if (asks_ != Asks::charges) {
      for (std::size_t i = 0; i < of_.size(); ++i) its_->decisions[of_[i]] = find_whether_over(i, states);
    }
    for (std::size_t i = 0; i < of_.size(); ++i) tell(i, states, now);
  }
  Decision find_whether_over(std::size_t i, const ChargedStates& states) {
    const core::Rule& rule = check(i).limit.rule;
    if (!states.before[i].ledger)
      return its_->charging.find_whether_over(of_[i], rule, states.before[first_of(i)].words, states.now,
                                              check(i).check());
    return its_->charging.find_whether_over(of_[i], decided(i, states, check(i).cost));
  }
  // Of a key in a ledger, which the script has charged that.
  Decision decided(std::size_t i, const ChargedStates& states, Cost cost) {
    const core::Rule& rule = check(i).limit.rule;
    const KeyState& state = states.before[i];
    const std::optional<store::OthersFree>& free = its_->terms.others_free;
    if (cost.units != 0 && free && state.ledger && its_->has(free->if_it_fits, of_[i]))
      return state.decide(rule, states.now, state.ledger->charged() != 0 ? Cost{0} : cost).decision();
    Outside outside = its_->terms.outside;
    outside.units = cost.units;
    its_->charging.told[of_[i]] = overdrawn(rule, state, states.now, outside);
    return store::decision_of(its_->charging.told[of_[i]], rule, outside);
  }
  // The first that has its key: it owes what was owed before all of them.
  std::size_t first_of(std::size_t i) const {
    std::size_t first = 0;
    while (!check(first).is_same_key(check(i))) ++first;
    return first;
  }
  void tell(std::size_t i, const ChargedStates& states, nanoseconds now) {
    const core::Rule& rule = check(i).limit.rule;
    if (states.before[i].ledger) {
      ChargedStates after = states;
      if (after.before[i].then) after.before[i].ledger = after.before[i].then;
      const bool charged = asks_ != Asks::states && its_->charging.charges(of_[i]);
      const Decision told = decided(i, after, charged ? check(i).cost : Cost{0});
      tell(of_[i], told);
      if (its_->recalls) return learn_of_charge(in_, check(i), &told, asked_, now);
      return in_.known.learn_of_look(rule, after.before[i].decide(rule, states.now, Cost{0}).decision(),
                                     check(i), now);
    }
    const core::TwoWords before = states.before[i].words;
    const core::Step step =
        asks_ == Asks::states
            ? its_->charging.charge_for(of_[i], rule, before, states.now, Cost{0}, false)
            : its_->charging.charge(of_[i], rule, before, states.now, check(i).check(), false);
    tell(of_[i], step.decision());
    if (its_->recalls) {
      const Decision told = step.decision();
      return learn_of_charge(in_, check(i), &told, asked_, now);
    }
    in_.known.learn_of_look(rule, core::decide(rule, step.next, states.now, Cost{0}).decision(), check(i),
                            now);
  }

  // What has been found over stays so, or the request would pass, for which the others are not charged: a
  // window may have ended meanwhile.
  void tell(std::size_t i, const Decision& decision) {
    const store::Charging& charging = its_->charging;
    const bool was_over = asks_ != Asks::all && charging.over != 0 && charging.charges(i);
    if (!was_over || charging.is_over(i, decision)) its_->decisions[i] = decision;
  }

  // While the store is away it is decided here, by what each limit says.
  void fail(Cause cause, std::string why, nanoseconds now) {
    in_.tally.refused(cause, why, now);
    for (std::size_t i = 0; its_->recalls && i < of_.size(); ++i)
      learn_of_charge(in_, check(i), nullptr, asked_, now);
    if (its_->fault != Fault::none || its_->ticket.cancelled()) return;
    if (cause == Cause::wrongtype) {
      its_->fault = Fault::foreign_value;
      its_->by = of_[0];
      its_->why = std::move(why);
      return;
    }
    // What is not charged has been told.
    std::vector<std::size_t> open = asks_ == Asks::charges ? of_ : its_->all();
    std::erase_if(open, [this](std::size_t i) { return asks_ == Asks::charges && !charges(i); });
    if (asks_ == Asks::charges) return decide_here(open, now);
    its_->undecided = true;
  }
  void decide_here(const std::vector<std::size_t>& of, nanoseconds now) {
    if (its_->ticket.cancelled()) return;
    StoreTally::count(in_.tally.counters.fallbacks);
    its_->local = true;
    std::vector<std::size_t> counted;
    bool over = false;
    for (const std::size_t i : of) {
      const KeptCheck& check = its_->checks[i];
      if (check.limit.on_store_error == OnStoreError::local) {
        counted.push_back(i);
        continue;
      }
      const auto decided = Fallback::uncounted(check.limit, check.cost);
      tell(i, *decided);  // NOLINT(bugprone-unchecked-optional-access): what does not count here
      over = over || !decided->allowed();
    }
    if (counted.empty()) return;
    store::ChargeTerms terms = its_->terms_of(counted);
    std::vector<store::Check> checks;
    for (const std::size_t i : counted) checks.push_back(its_->checks[i].check());
    // Beside one that is over the others are free.
    in_.fallback.count(checks, now, over ? store::Verb::look : store::Verb::charge, &terms);
    for (std::size_t i = 0; i < counted.size(); ++i) tell(counted[i], checks[i].decision);
  }

  void conclude() {
    Request* const request = its_->ticket.take();
    if (request == nullptr) return;  // cancelled: what is charged stays
    for (std::size_t i = 0; i < request->checks.size(); ++i) request->checks[i].decision = its_->decisions[i];
    its_->charging.tell(*request);
    request->source = its_->local ? Source::fallback : Source::store;
    request->charged = its_->fault == Fault::none;
    request->fault = its_->fault;
    request->why = std::move(its_->why);
    if (its_->fault != Fault::none) request->by = static_cast<std::uint8_t>(its_->by);
    finish(*request);
  }

  std::shared_ptr<OpenOthersFree> its_;
  Asks asks_;
  std::vector<std::size_t> of_;  // of its checks
  nanoseconds asked_{0};
};

}  // namespace

void charge_others_free(StoreParts& in, Request& request, nanoseconds now) {
  if (auto why = store::cannot_charge(request.checks, *request.charge))
    return refuse(request, 0, Fault::unsuitable, *std::move(why));
  const auto its = std::make_shared<OpenOthersFree>(request, now + in.patience_of(request));
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    its->checks.push_back(in.keep(request.checks[i]));
    its->slots[in.slot(its->checks[i].name)].push_back(i);
  }
  // Of several slots each is asked twice, and more may be charged meanwhile.
  its->recalls = its->slots.size() == 1 && recalls(request);
  for (KeptCheck& check : its->checks)
    if (its->recalls) in.known.leaves(check, recalled_cost(check.limit.rule, check.cost));
  using Asks = OthersFreeCall::Asks;
  OthersFreeCall::send_all(in, its, its->slots.size() == 1 ? Asks::all : Asks::states, its->slots, now);
}

}  // namespace weir::redis
