// Requests of several checks, charged all or none.
#include "redis/shared_store.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

void SharedStore::check_jointly(Request& request, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  const auto joint = std::make_shared<JointCheck>(
      JointCheck{.ticket = Ticket(request), .deadline = deadline_of(request, now)});
  joint->look = request.verb == store::Verb::look;
  std::array<bool, store::kMostChecks> denied{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::uint64_t hash = hash_of(checks[i].limit->id, checks[i].key);
    KeptCheck kept = keep(checks[i], hash, known_.resets_of(hash));
    for (const JointCheck::Each& other : joint->each) {
      if (other.check.hash != hash || other.check.name != kept.name) continue;
      return refuse(request, i, Fault::unsuitable, "two checks of a request have the same limit and key");
    }
    // Whether a guarantee is allowed nobody here knows: only beyond it a check has a rule that is known.
    const bool is_known =
        (kept.inside == Check::kNoGuarantee || denied[kept.inside]) && !may_be_never(checks);
    if (const auto denial =
            is_known && !joint->look ? known_.recall(kept.limit.rule, hash, kept.cost, now) : std::nullopt) {
      checks[i].decision = *denial;
      denied[i] = true;
    }
    const std::uint16_t its_slot = slot(kept.name);
    joint->add(std::move(kept), its_slot);
  }
  const auto enforced_denial = [&](std::size_t i) {
    return denied[i] && !checks[i].shadow ? &checks[i].decision : nullptr;
  };
  const std::size_t by = core::deciding(checks.size(), enforced_denial);
  if (enforced_denial(by) != nullptr) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    request.source = Source::remembered;
    request.by = static_cast<std::uint8_t>(by);
    return finish(request);
  }
  const bool leases = !joint->look && std::all_of(checks.begin(), checks.end(), [this](const Check& check) {
    return check.is_plain() && known_.wants_lease(*check.limit, check.cost);
  });
  if (leases && spend_jointly(request, *joint, now)) return;
  for (std::size_t i = 0; joint->parts.size() > 1 && !joint->look && i < checks.size(); ++i) {
    const Algorithm algorithm = checks[i].limit->rule.algorithm;
    if (core::can_give_back(algorithm)) continue;
    return refuse(request, i, Fault::unsuitable,
                  "the keys of this request lie in different slots of the cluster, and what " +
                      core::name_of(algorithm) +
                      " has charged cannot be given back: let them share a {hash tag}");
  }
  for (const JointCheck::Part& part : joint->parts) joint->open += part.stage == 0 ? 1 : 0;
  send_stage(joint, now);
  if (leases) lease_ahead(checks, *joint, now);
}

// Several checks are decided by leases when each of them has one with enough left: all or none, and each
// lease keeps the promise for itself. Whether they were.
bool SharedStore::spend_jointly(Request& request, const JointCheck& joint, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!known_.has_lease(joint.each[i].check, now)) return false;
  }
  request.charged_at = nanoseconds::max();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeptCheck& kept = joint.each[i].check;
    const auto spent = known_.spend(kept.hash, kept.limit.rule.quota, kept.cost, kept.resets, now);
    checks[i].decision = spent->decision;  // NOLINT(bugprone-unchecked-optional-access): has() has said so
    // The earliest, as where several nodes have charged: what is given back is less then, never more.
    request.charged_at =
        std::min(request.charged_at, spent->charged_at);  // NOLINT(bugprone-unchecked-optional-access)
  }
  counters_.leased.fetch_add(1, std::memory_order_relaxed);
  request.by = static_cast<std::uint8_t>(
      core::deciding(checks.size(), [&](std::size_t i) { return &checks[i].decision; }));
  request.source = Source::leased;
  request.charged = true;
  finish(request);
  return true;
}

// The next ones may then spend: each lease that is missing is asked for once.
void SharedStore::lease_ahead(std::span<const Check> checks, const JointCheck& joint, nanoseconds now) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeptCheck& kept = joint.each[i].check;
    const Cost units{known_.units_to_lease(*checks[i].limit, kept.cost)};
    if (known_.has_lease(kept, now) || merging_.has(kept.hash) ||
        known_.recall(kept.limit.rule, kept.hash, units, now))
      continue;
    ask_ahead(checks[i], kept.hash, kept.resets, joint.deadline, now, merging_.begin(kept.hash));
  }
}

void SharedStore::send_stage(const std::shared_ptr<JointCheck>& joint, nanoseconds now) {
  for (std::size_t part = 0; part < joint->parts.size(); ++part) {
    if (joint->parts[part].stage == joint->stage) send(joint, part, now);
  }
}

void SharedStore::answered(PartCall call, const Client::Result& result, nanoseconds now) {
  JointCheck& joint = *call.joint;
  JointCheck::Part& part = joint.parts[call.part];
  part.cause = result.cause;
  std::vector<Ask> asks;
  std::array<Decision, store::kMostChecks> decisions;
  if (part.cause == Cause::none) {
    known_.hear_clock(*result.value, part.asked, now);
    asks = joint.asks(part);
    const auto passes =
        joint.look ? read_look(*result.value, asks, decisions) : read_check(*result.value, asks, decisions);
    if (passes) {
      part.charged = *passes && !joint.look;
      part.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
      std::array<Decision, store::kMostChecks> uncharged = decisions;
      if (part.charged && joint.parts.size() > 1)
        tell_uncharged(*result.value, asks, std::span(uncharged).first(asks.size()));
      for (std::size_t i = 0; i < part.of.size(); ++i) {
        joint.each[part.of[i]].decision = decisions[i];
        joint.each[part.of[i]].uncharged = uncharged[i];
      }
    } else {
      part.cause = Cause::other;
      part.error = passes.error();
    }
  } else {
    part.error = result.error;
  }
  for (std::size_t i = 0; i < part.of.size(); ++i) {
    const KeptCheck& check = joint.each[part.of[i]].check;
    if (part.in_line) leave_line(check.hash);
    if (part.cause != Cause::none) {
      if (!joint.look) known_.learn({check.limit.rule}, check, check.cost, part.asked, now);
      continue;
    }
    const core::Rule rule = rule_of(asks, decisions, i);
    if (joint.look) {
      known_.learn_of_look(rule, decisions[i], check, now);
    } else {
      Decision& told = joint.each[part.of[i]].decision;
      const bool is_known = !mend(check, rule, check.cost, {&told, 1}, now);
      known_.learn({rule, part.charged, is_known ? &decisions[i] : nullptr}, check, check.cost, part.asked,
                   now);
    }
  }
  if (--joint.open > 0) return;
  if (joint.next_stage()) return send_stage(call.joint, now);
  conclude(joint, now);
}

void SharedStore::conclude(JointCheck& joint, nanoseconds now) {
  JointCheck::Conclusion end = joint.conclude(fallback_, now);
  if (end.cause == Cause::none) {
    counters_.decided.fetch_add(1, std::memory_order_relaxed);
    health_.decided(now);
  } else {
    count(end.cause);
    if (end.fault == Fault::none) health_.refused(end.error, now);
    if (end.fault == Fault::none && !joint.ticket.cancelled())
      counters_.fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  for (const JointCheck::Part* const part : end.to_give_back) {
    for (const std::size_t i : part->of) {
      const JointCheck::Each& its = joint.each[i];
      if (its.check.cost.units > 0 && its.decision.allowed())
        give_back(its.check, its.check.cost, part->charged_at, now);
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
  finish(*request);
}

void SharedStore::send(const std::shared_ptr<JointCheck>& joint, std::size_t index, nanoseconds now) {
  JointCheck::Part& part = joint->parts[index];
  part.asked = now;
  part.in_line = client_.busy(part.slot);
  for (const std::size_t i : part.of) {
    KeptCheck& check = joint->each[i].check;
    if (part.in_line) stand_in_line(check.hash);
    if (!joint->look) known_.leaves(check, check.cost);
  }
  std::string command;
  joint->look ? append_look(command, joint->asks(part)) : append_check(command, joint->asks(part));
  ask(PartCall{joint, index}, part.slot, std::move(command), joint->deadline, now);
}

}  // namespace weir::redis
