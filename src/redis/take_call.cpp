// Requests that take as much as there is, or look how much: one call, whose keys share a slot. What waits to
// be merged is passed by.
#include <algorithm>
#include <array>
#include <optional>

#include "redis/store_calls.hpp"
#include "redis/take_script.hpp"
#include "store/check_rules.hpp"
#include "store/taking.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

class TakeCall final : public StoreCall {
 public:
  TakeCall(StoreParts& in, Request& request, nanoseconds deadline)
      : StoreCall(in),
        ticket_(request),
        deadline_(deadline),
        terms_(*request.take),
        most_(store::most_to_ask(request.checks, terms_)),
        units_(UnitsAsked::up_to(terms_.least, most_, terms_.looks)) {}

  // The next check of the request, which costs what the least costs; or why it cannot be.
  std::optional<std::string> add(const Check& check);
  // A denial of the last one added that is remembered. Beyond a guarantee nobody here knows the rule.
  std::optional<Decision> recall(nanoseconds now) const {
    const KeptCheck& last = checks_.back();
    if (last.inside != Check::kNoGuarantee) return std::nullopt;
    return in_.known.recall(last.limit.rule, last.hash, last.cost, now);
  }
  // Whether the leases of its keys have all that it asks for, and it is answered; what is left of them goes
  // back otherwise, so that the store knows how much there is.
  bool spend(Request& request, nanoseconds now);
  void send(std::unique_ptr<Call> self, nanoseconds now);

 private:
  std::vector<ScriptCheck> asks() const;
  // What the checks cost from here on.
  void cost(std::uint64_t units) {
    for (std::size_t i = 0; i < checks_.size(); ++i)
      checks_[i].cost = Cost{store::cost_of_units(terms_.unit[i], units)};
  }
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override;
  bool has_calendar() const override {
    return std::any_of(checks_.begin(), checks_.end(),
                       [](const KeptCheck& check) { return check.limit.rule.calendar != nullptr; });
  }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override { ask(std::move(self), now); }
  void ask(std::unique_ptr<Call> self, nanoseconds now);
  std::optional<std::string> read(const resp::Value& value, std::uint64_t& granted);
  void learn(const resp::Value* answer, std::uint64_t granted, nanoseconds now);
  void tell(Request& request, std::uint64_t granted) const;
  void decide_here(Cause cause, std::string_view error, nanoseconds now);

  Ticket ticket_;
  nanoseconds deadline_;
  store::TakeTerms terms_;
  std::uint64_t most_;  // that an enforced limit may admit
  UnitsAsked units_;
  std::vector<KeptCheck> checks_;
  std::array<Decision, store::kMostChecks> decisions_;
  nanoseconds asked_{0};
  bool in_line_ = false;  // its keys are counted among those that wait in order
};

}  // namespace

void take(StoreParts& in, Request& request, nanoseconds now) {
  request.take->granted = 0;
  store::set_costs(request.checks, *request.take, request.take->least);
  const std::span<Check> checks = request.checks;
  auto call = std::make_unique<TakeCall>(in, request, now + in.patience_of(request));
  const bool recalls = !request.take->looks && !store::may_be_never(checks);
  Denied denied;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (auto sentence = call->add(checks[i]))
      return refuse(request, i, Fault::unsuitable, *std::move(sentence));
    const auto denial = recalls && !checks[i].shadow ? call->recall(now) : std::nullopt;
    if (!denial) continue;
    denied[i] = true;
    checks[i].decision = *denial;
  }
  if (is_denied(in, request, denied)) return finish(request);
  if (!request.take->looks && call->spend(request, now)) return;
  call->send(std::move(call), now);
}

namespace {

std::optional<std::string> TakeCall::add(const Check& check) {
  return add_beside(in_, checks_, in_.keep(check), "nobody knows how much all of them have");
}

std::vector<ScriptCheck> TakeCall::asks() const {
  std::vector<ScriptCheck> made;
  for (const KeptCheck& check : checks_) made.push_back(check.ask_beside_others());
  return made;
}

bool TakeCall::spend(Request& request, nanoseconds now) {
  std::array<const KeptCheck*, store::kMostChecks> kept{};
  cost(most_);
  bool leases = most_ >= terms_.least;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    kept[i] = &checks_[i];
    leases = leases && request.checks[i].is_plain() && in_.known.has_lease(checks_[i], now);
  }
  if (leases) {
    request.take->granted = most_;
    store::set_costs(request.checks, terms_, most_);
    spend_jointly(in_, *ticket_.take(), std::span(kept).first(checks_.size()), now);
    return true;
  }
  cost(terms_.least);
  for (const KeptCheck& check : checks_) {
    if (const auto lease = in_.known.end_lease(check.hash)) give_back(in_, check.hash, *lease, now);
  }
  return false;
}

void TakeCall::send(std::unique_ptr<Call> self, nanoseconds now) {
  in_line_ = in_.client.busy(in_.slot(checks_[0].name));
  for (KeptCheck& check : checks_) {
    if (in_line_) in_.lines.stand(check.hash);
    if (!terms_.looks) in_.known.leaves(check, check.cost);
  }
  ask(std::move(self), now);
}

void TakeCall::ask(std::unique_ptr<Call> self, nanoseconds now) {
  asked_ = now;
  cost(1);
  std::vector<ScriptCheck> all = asks();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].rule->calendar != nullptr) all[i].utc = time_there(checks_[i], now);
  }
  std::string command;
  append_take(command, all, units_);
  cost(terms_.least);
  in_.client.call(std::move(self), in_.slot(checks_[0].name), std::move(command), deadline_, now);
}

std::optional<std::string> TakeCall::read(const resp::Value& value, std::uint64_t& granted) {
  const auto counted = read_granted(value, units_);
  if (!counted) return counted.error();
  // Where no limit could be short of them, the script was asked for as many as it can count.
  granted = *counted == units_.most ? std::max(*counted, most_) : *counted;
  if (granted != 0) cost(granted);
  return read_take(value, asks(), units_, decisions_);
}

void TakeCall::heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) {
  Cause cause = result.cause;
  std::string error(result.error);
  std::uint64_t granted = 0;
  if (cause == Cause::none) {
    in_.known.hear_clock(*result.value, asked_, now);
    if (auto why = read(*result.value, granted)) {
      cause = Cause::other;
      error = *std::move(why);
    }
  }
  learn(cause == Cause::none ? result.value : nullptr, granted, now);
  if (cause != Cause::none) return decide_here(cause, error, now);
  in_.tally.decided(now);
  Request* const request = ticket_.take();
  if (request == nullptr) return;  // cancelled
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    request->checks[i].decision = decisions_[i];
    request->checks[i].cost = checks_[i].cost;
  }
  request->take->granted = granted;
  request->charged = granted != 0 && !terms_.looks;
  request->by = store::deciding(request->checks);
  request->charged_at = decided_at(*result.value).value_or(nanoseconds{0});
  std::array<const KeptCheck*, store::kMostChecks> kept{};
  for (std::size_t i = 0; i < checks_.size(); ++i) kept[i] = &checks_[i];
  finish_with_penalties(in_, *request, std::span(kept).first(checks_.size()), deadline_, now);
}

void TakeCall::learn(const resp::Value* answer, std::uint64_t granted, nanoseconds now) {
  const std::vector<ScriptCheck> all = asks();
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const KeptCheck& check = checks_[i];
    const Cost least{store::cost_of_units(terms_.unit[i], terms_.least)};
    if (in_line_) in_.lines.leave(check.hash);
    if (answer == nullptr) {
      if (!terms_.looks) in_.known.learn({check.limit.rule}, check, least, asked_, now);
      continue;
    }
    const core::Rule rule = rule_of(all, decisions_, i);
    if (terms_.looks) {
      in_.known.learn_of_look(rule, decisions_[i], check, now);
      continue;
    }
    const bool is_known = !mend(in_, check, rule, check.cost, state_in(*answer, i), {&decisions_[i], 1}, now);
    // What denies as many as were granted, in shadow, says nothing of the least.
    const bool tells = is_known && (granted == 0 || decisions_[i].allowed());
    in_.known.learn({rule, granted != 0, tells ? &decisions_[i] : nullptr, false, state_in(*answer, i).text},
                    check, least, asked_, now);
  }
}

void TakeCall::decide_here(Cause cause, std::string_view error, nanoseconds now) {
  if (cause == Cause::overload && ticket_.cancelled()) return;  // it never left
  in_.tally.refused(cause, error, now);
  Request* const request = ticket_.take();
  if (request == nullptr) return;  // cancelled
  if (cause == Cause::wrongtype) return refuse(*request, 0, Fault::foreign_value, std::string(error));
  StoreTally::count(in_.tally.counters.fallbacks);
  cost(terms_.least);
  std::vector<Check> checks;
  for (KeptCheck& each : checks_) checks.emplace_back(each.check()).inside = each.inside;
  request->charged = in_.fallback.take(checks, *request->take, now);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    request->checks[i].decision = checks[i].decision;
    request->checks[i].cost = checks[i].cost;
    request->checks[i].hash = checks[i].hash;
  }
  request->by = store::deciding(request->checks);
  request->source = Source::fallback;
  request->why = name_of(cause);
  request->charged_at = now;
  finish(*request);
}

}  // namespace

}  // namespace weir::redis
