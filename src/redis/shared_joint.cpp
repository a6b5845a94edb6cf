// Requests of several checks, charged all or none.
#include "redis/shared_store.hpp"

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "redis/script.hpp"

namespace weir::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;

void SharedStore::check_jointly(Request& request, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  const auto joint = std::make_shared<JointCheck>(
      JointCheck{.ticket = Ticket(request), .deadline = deadline_of(request, now)});
  std::optional<std::size_t> denied_by;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::uint64_t hash = hash_of(checks[i].limit->id, checks[i].key);
    KeptCheck kept = keep(checks[i], hash, memory_.resets.of(hash).load());
    for (const JointCheck::Each& other : joint->each) {
      if (other.check.hash != hash || other.check.name != kept.name) continue;
      return refuse(request, i, Fault::unsuitable, "two checks of a request have the same limit and key");
    }
    if (const auto denial = recall(kept.limit.rule, hash, kept.cost, now)) {
      checks[i].decision = *denial;
      if (!denied_by || core::decides(*denial, checks[*denied_by].decision)) denied_by = i;
    }
    const std::uint16_t its_slot = slot(kept.name);
    joint->add(std::move(kept), its_slot);
  }
  if (denied_by) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    request.source = Source::remembered;
    request.by = static_cast<std::uint8_t>(*denied_by);
    return finish(request);
  }
  for (std::size_t i = 0; joint->parts.size() > 1 && i < checks.size(); ++i) {
    const Algorithm algorithm = checks[i].limit->rule.algorithm;
    if (core::can_give_back(algorithm)) continue;
    return refuse(request, i, Fault::unsuitable,
                  "the keys of this request lie in different slots of the cluster, and what " +
                      core::name_of(algorithm) +
                      " has charged cannot be given back: let them share a {hash tag}");
  }
  joint->open = joint->parts.size();
  for (std::size_t part = 0; part < joint->parts.size(); ++part) send(joint, part, now);
}

void SharedStore::answered(PartCall call, const Client::Result& result, nanoseconds now) {
  JointCheck& joint = *call.joint;
  JointCheck::Part& part = joint.parts[call.part];
  part.cause = result.cause;
  if (part.cause == Cause::none) {
    std::array<Decision, store::kMostChecks> decisions;
    const auto charged = read_check(*result.value, joint.asks(part), decisions);
    if (charged) {
      part.charged = *charged;
      part.charged_at = decided_at(*result.value).value_or(nanoseconds{0});
      for (std::size_t i = 0; i < part.of.size(); ++i) joint.each[part.of[i]].decision = decisions[i];
    } else {
      part.cause = Cause::other;
      part.error = charged.error();
    }
  } else {
    part.error = result.error;
  }
  for (const std::size_t i : part.of) {
    const JointCheck::Each& each = joint.each[i];
    if (part.in_line) leave_line(each.check.hash);
    learn(part.cause == Cause::none ? Answered{part.charged, &each.decision} : Answered{}, each.check,
          each.check.cost, part.asked, now);
  }
  if (--joint.open == 0) conclude(joint, now);
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
      const KeptCheck& check = joint.each[i].check;
      if (check.cost.units > 0) give_back(check, check.cost, part->charged_at, now);
    }
  }
  Request* const request = joint.ticket.take();
  if (request == nullptr) return;  // cancelled
  request->charged = end.charged;
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
    leaves(check, check.cost);
  }
  std::string command;
  append_check(command, joint->asks(part));
  ask(PartCall{joint, index}, part.slot, std::move(command), joint->deadline, now);
}

}  // namespace weir::redis
