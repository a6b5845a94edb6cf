// Requests of several checks, charged all or none, and looks. A call is a part of it: the keys of one slot.
#include <algorithm>
#include <array>

#include "core/rule.hpp"
#include "redis/joint_check.hpp"
#include "redis/script.hpp"
#include "redis/store_calls.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

namespace {

class PartCall final : public StoreCall {
 public:
  PartCall(StoreParts& in, std::shared_ptr<JointCheck> joint, std::size_t part)
      : StoreCall(in), joint_(std::move(joint)), part_(joint_->parts[part]) {}

  void send(std::unique_ptr<Call> self, nanoseconds now);
  bool wanted() const override { return !joint_->ticket.cancelled(); }

 private:
  void heard(std::unique_ptr<Call> self, const Result& result, nanoseconds now) override;
  bool has_calendar() const override {
    return std::any_of(part_.of.begin(), part_.of.end(), [this](std::size_t i) {
      return joint_->each[i].check.limit.rule.calendar != nullptr;
    });
  }
  void ask_again(std::unique_ptr<Call> self, nanoseconds now) override { ask(std::move(self), now); }
  void ask(std::unique_ptr<Call> self, nanoseconds now);
  void read(const resp::Value& value, std::span<const ScriptCheck> asks, std::span<Decision> decisions);
  void learn(const resp::Value* answer, std::span<const ScriptCheck> asks,
             std::span<const Decision> decisions, nanoseconds now);
  void conclude(nanoseconds now);

  std::shared_ptr<JointCheck> joint_;
  JointCheck::Part& part_;
};

void send_stage(StoreParts& in, const std::shared_ptr<JointCheck>& joint, nanoseconds now) {
  for (std::size_t part = 0; part < joint->parts.size(); ++part) {
    if (joint->parts[part].stage != joint->stage) continue;
    auto call = std::make_unique<PartCall>(in, joint, part);
    call->send(std::move(call), now);
  }
}

}  // namespace

void spend_jointly(StoreParts& in, Request& request, std::span<const KeptCheck* const> kept,
                   nanoseconds now) {
  const std::span<Check> checks = request.checks;
  request.charged_at = nanoseconds::max();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto spent =
        in.known.spend(kept[i]->hash, kept[i]->limit.rule.quota, kept[i]->cost, kept[i]->resets, now);
    checks[i].decision = spent->decision;  // NOLINT(bugprone-unchecked-optional-access): each has one
    // The earliest, as where several nodes have charged: what is given back is less then, never more.
    request.charged_at =
        std::min(request.charged_at, spent->charged_at);  // NOLINT(bugprone-unchecked-optional-access)
  }
  StoreTally::count(in.tally.counters.leased);
  request.by = static_cast<std::uint8_t>(
      core::deciding(checks.size(), [&](std::size_t i) { return &checks[i].decision; }));
  request.source = Source::leased;
  request.charged = true;
  finish(request);
}

void check_jointly(StoreParts& in, Request& request, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  const auto joint = std::make_shared<JointCheck>(
      JointCheck{.ticket = Ticket(request), .deadline = now + in.patience_of(request)});
  joint->look = request.verb == store::Verb::look;
  // No remembered denial is the answer to one that is never: that would say when to come again.
  const bool recalls = !joint->look && !store::may_be_never(checks);
  Denied denied, enforced;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    KeptCheck kept = in.keep(checks[i]);
    if (joint->has(kept)) return refuse(request, i, Fault::unsuitable, std::string(kSameKeyTwice));
    // Whether a guarantee is allowed nobody here knows: only beyond it a check has a rule that is known.
    const bool is_known = kept.inside == Check::kNoGuarantee || denied[kept.inside];
    if (const auto denial = recalls && is_known ? in.known.recall(kept.limit.rule, kept.hash, kept.cost, now)
                                                : std::nullopt) {
      checks[i].decision = *denial;
      denied[i] = true;
      enforced[i] = !checks[i].shadow;
    }
    const std::uint16_t slot = in.slot(kept.name);
    joint->add(std::move(kept), slot);
  }
  if (is_denied(in, request, enforced)) return finish(request);
  const bool leases = !joint->look && std::all_of(checks.begin(), checks.end(), [&in](const Check& check) {
    return check.is_plain() && in.known.wants_lease(*check.limit, check.cost);
  });
  if (leases && std::all_of(joint->each.begin(), joint->each.end(), [&](const JointCheck::Each& each) {
        return in.known.has_lease(each.check, now);
      })) {
    std::array<const KeptCheck*, store::kMostChecks> kept{};
    for (std::size_t i = 0; i < checks.size(); ++i) kept[i] = &joint->each[i].check;
    return spend_jointly(in, request, std::span(kept).first(checks.size()), now);
  }
  for (std::size_t i = 0; joint->parts.size() > 1 && !joint->look && i < checks.size(); ++i) {
    const Algorithm algorithm = checks[i].limit->rule.algorithm;
    if (core::can_give_back(algorithm)) continue;
    return refuse(request, i, Fault::unsuitable,
                  "the keys of this request lie in different slots of the cluster, and what " +
                      core::name_of(algorithm) +
                      " has charged cannot be given back: let them share a {hash tag}");
  }
  for (const JointCheck::Part& part : joint->parts) joint->open += part.stage == 0 ? 1 : 0;
  send_stage(in, joint, now);
  // The next ones may then spend: each lease that is missing is asked for once.
  for (std::size_t i = 0; leases && i < checks.size(); ++i) {
    const KeptCheck& kept = joint->each[i].check;
    const Cost units{in.known.units_to_lease(*checks[i].limit, kept.cost)};
    if (in.known.has_lease(kept, now) || in.merging.has(kept.hash) ||
        in.known.recall(kept.limit.rule, kept.hash, units, now))
      continue;
    lease_ahead(in, in.keep(checks[i]), joint->deadline, now);
  }
}

namespace {

void PartCall::send(std::unique_ptr<Call> self, nanoseconds now) {
  part_.in_line = in_.client.busy(part_.slot);
  for (const std::size_t i : part_.of) {
    KeptCheck& check = joint_->each[i].check;
    if (part_.in_line) in_.lines.stand(check.hash);
    if (!joint_->look) in_.known.leaves(check, check.cost);
  }
  ask(std::move(self), now);
}

void PartCall::ask(std::unique_ptr<Call> self, nanoseconds now) {
  part_.asked = now;
  std::vector<ScriptCheck> asks = joint_->asks(part_);
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (asks[i].rule->calendar != nullptr) asks[i].utc = time_there(joint_->each[part_.of[i]].check, now);
  }
  std::string command;
  joint_->look ? append_look(command, asks) : append_check(command, asks);
  in_.client.call(std::move(self), part_.slot, std::move(command), joint_->deadline, now);
}

void PartCall::heard(std::unique_ptr<Call>, const Result& result, nanoseconds now) {
  part_.cause = result.cause;
  part_.error = result.error;
  std::vector<ScriptCheck> asks;
  std::array<Decision, store::kMostChecks> decisions;
  if (part_.cause == Cause::none) {
    in_.known.hear_clock(*result.value, part_.asked, now);
    asks = joint_->asks(part_);
    read(*result.value, asks, decisions);
  }
  learn(result.value, asks, decisions, now);
  if (--joint_->open > 0) return;
  if (joint_->next_stage()) return send_stage(in_, joint_, now);
  conclude(now);
}

void PartCall::read(const resp::Value& value, std::span<const ScriptCheck> asks,
                    std::span<Decision> decisions) {
  const auto passes = joint_->look ? read_look(value, asks, decisions) : read_check(value, asks, decisions);
  if (!passes) {
    part_.cause = Cause::other;
    part_.error = passes.error();
    return;
  }
  part_.charged = *passes && !joint_->look;
  part_.charged_at = decided_at(value).value_or(nanoseconds{0});
  std::vector<Decision> uncharged(decisions.begin(),
                                  decisions.begin() + static_cast<std::ptrdiff_t>(asks.size()));
  if (part_.charged && joint_->parts.size() > 1) tell_uncharged(value, asks, uncharged);
  for (std::size_t i = 0; i < part_.of.size(); ++i) {
    JointCheck::Each& each = joint_->each[part_.of[i]];
    each.decision = decisions[i];
    each.uncharged = uncharged[i];
  }
}

void PartCall::learn(const resp::Value* answer, std::span<const ScriptCheck> asks,
                     std::span<const Decision> decisions, nanoseconds now) {
  for (std::size_t i = 0; i < part_.of.size(); ++i) {
    JointCheck::Each& each = joint_->each[part_.of[i]];
    const KeptCheck& check = each.check;
    if (part_.in_line) in_.lines.leave(check.hash);
    if (part_.cause != Cause::none) {
      if (!joint_->look) in_.known.learn({check.limit.rule}, check, check.cost, part_.asked, now);
      continue;
    }
    const core::Rule rule = rule_of(asks, decisions, i);
    if (joint_->look) {
      in_.known.learn_of_look(rule, decisions[i], check, now);
    } else {
      const bool is_known =
          !mend(in_, check, rule, check.cost, state_in(*answer, i), {&each.decision, 1}, now);
      in_.known.learn(
          {rule, part_.charged, is_known ? &decisions[i] : nullptr, false, state_in(*answer, i).text}, check,
          check.cost, part_.asked, now);
    }
  }
}

void PartCall::conclude(nanoseconds now) {
  JointCheck& joint = *joint_;
  JointCheck::Conclusion end = joint.conclude(in_.fallback, now);
  if (end.cause == Cause::none) {
    in_.tally.decided(now);
  } else if (end.fault != Fault::none) {
    in_.tally.failed(end.cause);
  } else {
    in_.tally.refused(end.cause, end.error, now);
    if (!joint.ticket.cancelled()) StoreTally::count(in_.tally.counters.fallbacks);
  }
  for (const JointCheck::Part* const part : end.to_give_back) {
    for (const std::size_t i : part->of) {
      const JointCheck::Each& its = joint.each[i];
      if (its.check.cost.units > 0 && its.decision.allowed())
        give_back(in_, its.check, part->charged_at, now);
    }
  }
  Request* const request = joint.ticket.take();
  if (request == nullptr) return;  // cancelled
  request->charged = end.charged && !joint.look;
  request->by = static_cast<std::uint8_t>(end.by);
  request->source = end.source;
  request->fault = end.fault;
  request->why = std::move(end.why);
  request->charged_at = end.charged_at;
  for (std::size_t i = 0; end.fault == Fault::none && i < joint.each.size(); ++i) {
    request->checks[i].decision = joint.each[i].decision;
    request->checks[i].hash = joint.each[i].local;
  }
  std::array<const KeptCheck*, store::kMostChecks> decided{};
  for (std::size_t i = 0; i < joint.each.size(); ++i)
    decided[i] = joint.each[i].cause == Cause::none ? &joint.each[i].check : nullptr;
  finish_with_penalties(in_, *request, std::span(decided).first(joint.each.size()), joint.deadline, now);
}

}  // namespace

}  // namespace weir::redis
