// What is charged afterwards. A call is the keys of one slot; each passes, so none waits for another.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "redis/charge_script.hpp"
#include "redis/reservation_id.hpp"
#include "redis/reserve_script.hpp"
#include "redis/slot.hpp"
#include "redis/store_calls.hpp"
#include "store/charging.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

// A request while its keys are being charged, slot by slot.
struct OpenCharge {
  struct Each {
    KeptCheck check;
    std::optional<Outside> outside;  // nothing: a guarantee, which is charged as by a check
  };

  Ticket ticket;
  nanoseconds deadline;
  bool decides = false;
  bool recalls = false;  // denials of its checks are remembered
  std::vector<Each> each{};
  std::array<Charged, store::kMostChecks> told{};
  std::array<Decision, store::kMostChecks> decisions{};  // where they are asked for
  std::size_t open = 0;                                  // slots
  bool local = false;                                    // the fallback has charged some
  Fault fault = Fault::none;
  std::size_t by = 0;  // with a fault: the check that has it
  std::string why{};
};

class ChargeCall final : public StoreCall {
 public:
  ChargeCall(StoreParts& in, std::shared_ptr<OpenCharge> charge)
      : StoreCall(in), charge_(std::move(charge)) {}

  void add(std::size_t which) { of_.push_back(which); }
  void send(std::unique_ptr<Call> self, nanoseconds now) {
    asked_ = now;
    std::string command;
    const std::string& name = charge_->each[of_[0]].check.name;
    if (refunds()) {
      // A remembered denial tells of what is given back.
      for (const std::size_t i : of_) in_.known.forget_denial(charge_->each[i].check.hash);
    }
    if (refunds_gcra()) {
      append_refund(command, in_.endpoint.prefix, asks());
    } else if (const auto pause = paused()) {
      append_pause(command, in_.endpoint.prefix, asks(), reservation_id(in_.ids.next(), slot_of(name)),
                   *pause);
    } else {
      std::vector<ScriptCharge> all = charges();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].ask.rule->calendar != nullptr)
          all[i].ask.utc = time_there(charge_->each[of_[i]].check, now);
      }
      append_charge(command, all);
    }
    in_.client.call(std::move(self), in_.slot(name), std::move(command), charge_->deadline, now);
  }

 private:
  std::optional<Pause> paused() const {
    const std::optional<Outside>& told = outside();
    if (!told || told->form != Outside::Form::pause) return std::nullopt;
    return Pause{told->length, told->afresh};
  }
  const std::optional<Outside>& outside() const { return charge_->each[of_[0]].outside; }
  bool refunds() const {
    const std::optional<Outside>& told = outside();
    return told && told->form == Outside::Form::refund;
  }
  bool refunds_gcra() const {
    return refunds() && core::can_reserve(charge_->each[of_[0]].check.limit.rule.algorithm);
  }
  std::vector<ScriptCheck> asks() const {
    std::vector<ScriptCheck> made;
    for (const std::size_t i : of_) made.push_back(charge_->each[i].check.ask());
    return made;
  }
  std::vector<ScriptCharge> charges() const {
    std::vector<ScriptCharge> made;
    for (const std::size_t i : of_) {
      const OpenCharge::Each& each = charge_->each[i];
      made.push_back({each.check.ask(), each.outside});
    }
    return made;
  }

  bool has_calendar() const override {
    return std::any_of(of_.begin(), of_.end(), [this](std::size_t i) {
      return charge_->each[i].check.limit.rule.calendar != nullptr;
    });
  }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override { send(std::move(self), now); }
  void heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) override {
    if (result.cause == Cause::none) {
      in_.known.hear_clock(*result.value, asked_, now);
      read(*result.value, now);
    } else {
      fail(result.cause, std::string(result.error), now);
    }
    if (--charge_->open == 0) conclude();
  }

  void read(const resp::Value& value, nanoseconds now) {
    std::array<Decision, store::kMostChecks> decisions;
    std::array<Charged, store::kMostChecks> told;
    const auto pause = paused();
    if (auto why = refunds_gcra() || pause ? read_changed(value, asks(), decisions, told)
                                           : read_charge(value, charges(), decisions, told))
      return fail(Cause::other, *std::move(why), now);
    in_.tally.decided(now);
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (pause && pause->afresh) told[i].overdraft = 0;  // at its end
      charge_->told[of_[i]] = told[i];
      const KeptCheck& check = charge_->each[of_[i]].check;
      const std::optional<Outside>& outside = charge_->each[of_[i]].outside;
      const Decision decided =
          outside ? store::decision_of(told[i], check.limit.rule, *outside) : decisions[i];
      charge_->decisions[of_[i]] = decided;
      if (charge_->recalls)
        learn_of_charge(in_, check, &decided, asked_, now);
      else
        in_.known.learn_of_look(check.limit.rule, decisions[i], check, now);
      // And again: a lease that was asked for meanwhile may be of before the pause.
      if (pause) in_.known.forget(check.hash);
      if (pause) in_.options.paused(check.hash, asked_ + pause->length, pause->afresh);
      if (!pause) in_.options.owed_changed(check.hash);
    }
  }

  bool decides_uncounted() const {
    const std::optional<Outside>& told = outside();
    return charge_->decides && told && told->form == Outside::Form::cost;
  }
  // Where a limit counts here while the store is away, it is owed here; elsewhere nobody has charged it,
  // which is a fault of a report, and the limit's decision where one is asked for.
  void fail(Cause cause, std::string why, nanoseconds now) {
    in_.tally.refused(cause, why, now);
    for (const std::size_t i : of_)
      if (charge_->recalls) learn_of_charge(in_, charge_->each[i].check, nullptr, asked_, now);
    if (charge_->fault != Fault::none || charge_->ticket.cancelled()) return;
    const auto counts_here = [this](std::size_t i) {
      return charge_->each[i].check.limit.on_store_error == OnStoreError::local;
    };
    const auto not_here = std::find_if_not(of_.begin(), of_.end(), counts_here);
    if (cause == Cause::wrongtype || (not_here != of_.end() && !decides_uncounted())) {
      charge_->fault = cause == Cause::wrongtype ? Fault::foreign_value : Fault::store_down;
      charge_->by = cause == Cause::wrongtype ? of_[0] : *not_here;
      charge_->why = std::move(why);
      return;
    }
    StoreTally::count(in_.tally.counters.fallbacks);
    charge_->local = true;
    for (const std::size_t i : of_) {
      const auto& [check, outside] = charge_->each[i];
      if (!outside) continue;
      if (!counts_here(i)) {
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): what does not count here
        charge_->decisions[i] = *Fallback::uncounted(check.limit, check.cost);
        continue;
      }
      store::Check here = check.check();
      charge_->told[i] = in_.fallback.charge(here, *outside, charge_->decides, now);
      charge_->decisions[i] = here.decision;
    }
  }

  void conclude() {
    OpenCharge& its = *charge_;
    Request* const request = its.ticket.take();
    if (request == nullptr) return;  // cancelled: what is charged stays
    request->source = its.local ? Source::fallback : Source::store;
    if (its.decides)
      for (std::size_t i = 0; i < its.each.size(); ++i) request->checks[i].decision = its.decisions[i];
    const store::Charging charging{*request->charge, its.told};
    charging.tell(*request);
    request->charged = its.fault == Fault::none;
    request->fault = its.fault;
    request->why = std::move(its.why);
    if (its.fault != Fault::none) request->by = static_cast<std::uint8_t>(its.by);
    finish(*request);
  }

  std::shared_ptr<OpenCharge> charge_;
  std::vector<std::size_t> of_;
  nanoseconds asked_{0};
};

}  // namespace

bool recall_charge(StoreParts& in, Request& request, nanoseconds now) {
  if (!recalls(request)) return false;
  std::array<Decision, store::kMostChecks> decisions;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    const core::Rule& rule = check.limit->rule;
    const auto denial = in.known.recall(rule, in.known.hash_of(check.limit->id, check.key),
                                        recalled_cost(rule, check.cost), now);
    if (!denial) return false;
    decisions[i] = *denial;
    if (check.cost.units <= static_cast<std::uint64_t>(rule.quota.burst())) continue;
    decisions[i].verdict = Verdict::never;
    decisions[i].retry_after.reset();
  }
  for (std::size_t i = 0; i < request.checks.size(); ++i) request.checks[i].decision = decisions[i];
  request.by = store::deciding(request.checks);
  request.source = Source::remembered;
  StoreTally::count(in.tally.counters.remembered);
  finish(request);
  return true;
}

void learn_of_charge(StoreParts& in, const KeptCheck& check, const Decision* told, nanoseconds asked,
                     nanoseconds now) {
  const core::Rule& rule = check.limit.rule;
  const Cost cost = recalled_cost(rule, check.cost);
  if (told == nullptr) return in.known.learn({rule}, check, cost, asked, now);
  Decision last = *told;
  if (last.verdict == Verdict::never && last.remaining == 0) {  // as those are told that cost less
    last.verdict = Verdict::denied;
    last.retry_after = last.reset_after;
  }
  in.known.learn({rule, true, &last}, check, cost, asked, now);
}

void charge(StoreParts& in, Request& request, nanoseconds now) {
  if (recall_charge(in, request, now)) return;
  if (request.charge->others_free) return charge_others_free(in, request, now);
  if (auto why = store::cannot_charge(request.checks, request.charge->outside))
    return refuse(request, 0, Fault::unsuitable, *std::move(why));
  const auto its = std::make_shared<OpenCharge>(OpenCharge{.ticket = Ticket(request),
                                                           .deadline = now + in.patience_of(request),
                                                           .decides = request.charge->decides,
                                                           .recalls = recalls(request)});
  const Outside::Form form = request.charge->outside.form;
  const bool pauses = store::pauses(request.charge->outside);
  // By slot; a pause, and a refund of gcra's states, is asked of another script.
  std::map<std::pair<std::uint16_t, bool>, std::unique_ptr<ChargeCall>> calls;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    if (pauses) in.known.forget(in.known.hash_of(check.limit->id, check.key));
    KeptCheck kept = in.keep(check);
    const bool refunds = form == Outside::Form::refund;
    const bool by_ledger = pauses || (refunds && core::can_reserve(check.limit->rule.algorithm));
    if (by_ledger) {
      if (auto why = cannot_reserve(check.limit->rule))
        return refuse(request, i, Fault::unsuitable, *std::move(why));
    }
    const auto same = [&kept](const OpenCharge::Each& other) { return other.check.is_same_key(kept); };
    if (std::any_of(its->each.begin(), its->each.end(), same))
      return refuse(request, i, Fault::unsuitable, std::string(kSameKeyTwice));
    const bool guarantee = store::is_guarantee(request.checks, i);
    if (!guarantee || !refunds) {
      auto& call = calls[{in.slot(kept.name), by_ledger}];
      if (!call) call = std::make_unique<ChargeCall>(in, its);
      call->add(i);
    }
    its->each.push_back({std::move(kept), std::nullopt});
    if (!guarantee) its->each.back().outside = store::outside_of(*request.charge, check);
  }
  its->open = calls.size();
  for (OpenCharge::Each& each : its->each)
    if (its->recalls) in.known.leaves(each.check, recalled_cost(each.check.limit.rule, each.check.cost));
  for (auto& [where, call] : calls) call->send(std::move(call), now);
}

}  // namespace weir::redis
