#include "redis/joint_check.hpp"

#include <algorithm>

#include "core/severity.hpp"

namespace weir::inline v0_1::redis {

bool JointCheck::has(const KeptCheck& check) const {
  return std::any_of(each.begin(), each.end(),
                     [&](const Each& other) { return other.check.is_same_key(check); });
}

void JointCheck::add(KeptCheck check, std::uint16_t slot) {
  std::size_t its_stage = 0;
  if (check.inside != store::Check::kNoGuarantee) {
    const Part& guarantee = parts[each[check.inside].part];
    its_stage = guarantee.slot == slot ? guarantee.stage : guarantee.stage + 1;
  }
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](const Part& other) { return other.slot == slot && other.stage == its_stage; });
  if (part == parts.end()) part = parts.insert(part, Part{slot, its_stage});
  part->of.push_back(each.size());
  each.push_back({.check = std::move(check), .part = static_cast<std::size_t>(part - parts.begin())});
}

std::vector<ScriptCheck> JointCheck::asks(const Part& part) const {
  std::vector<ScriptCheck> made;
  for (const std::size_t i : part.of) {
    ScriptCheck& ask = made.emplace_back(each[i].check.ask());
    ask.shadow = each[i].check.shadow;
    const auto guarantee = std::find(part.of.begin(), part.of.end(), each[i].check.inside);
    if (guarantee != part.of.end()) ask.inside = static_cast<std::size_t>(guarantee - part.of.begin());
  }
  return made;
}

bool JointCheck::next_stage() {
  const bool foreign = std::any_of(parts.begin(), parts.end(),
                                   [](const Part& part) { return part.cause == Cause::wrongtype; });
  if (foreign || ticket.cancelled()) return false;
  ++stage;
  for (const Part& part : parts) {
    if (part.stage != stage) continue;
    ++open;
    for (const std::size_t i : part.of) {
      KeptCheck& check = each[i].check;
      if (check.inside == store::Check::kNoGuarantee) continue;
      const Each& guarantee = each[check.inside];
      if (guarantee.part == each[i].part || parts[guarantee.part].cause != Cause::none) continue;
      if (guarantee.decision.allowed()) check.limit.rule.kept = nanoseconds{0};
      check.inside = store::Check::kNoGuarantee;
    }
  }
  return open > 0;
}

bool JointCheck::fall_back(Fallback& fallback, nanoseconds now) {
  bool all = true;
  std::vector<std::size_t> counted;  // by the embedded store
  for (std::size_t i = 0; i < each.size(); ++i) {
    Each& its = each[i];
    if (its.cause != Cause::none) {
      const auto decided = Fallback::uncounted(its.check.limit, its.check.cost);
      if (!decided) counted.push_back(i);
      const std::int64_t burst = its.check.limit.rule.quota.burst();
      its.decision = decided.value_or(Decision{Verdict::allowed, burst, burst, std::nullopt, nanoseconds{0}});
      its.local = Fallback::kUncounted;
    }
    all = all && (its.decision.allowed() || its.check.shadow);
  }
  if (counted.empty()) return all;
  std::vector<store::Check> checks;
  for (const std::size_t i : counted) {
    KeptCheck& check = each[i].check;
    store::Check& made = checks.emplace_back(check.check());
    if (check.inside == store::Check::kNoGuarantee) continue;
    const auto guarantee = std::find(counted.begin(), counted.end(), check.inside);
    if (guarantee < counted.end()) {
      made.inside = static_cast<std::uint8_t>(guarantee - counted.begin());
    } else if (each[check.inside].decision.allowed()) {
      check.limit.rule.kept = nanoseconds{0};
    }
  }
  // What the store denies is not charged here either, but what is there is told.
  const bool passes = fallback.count(checks, now, look || !all ? store::Verb::look : store::Verb::check);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    each[counted[i]].decision = checks[i].decision;
    each[counted[i]].local = checks[i].hash;
  }
  return all && passes;
}

JointCheck::Conclusion JointCheck::conclude(Fallback& fallback, nanoseconds now) {
  Conclusion end;
  const Part* foreign = nullptr;
  end.charged_at = nanoseconds::max();
  for (const Part& part : parts) {
    for (const std::size_t i : part.of) each[i].cause = part.cause;
    if (end.cause == Cause::none) {
      end.cause = part.cause;
      end.error = part.error;
    }
    if (part.cause == Cause::wrongtype && foreign == nullptr) foreign = &part;
    // The earliest of the clocks of several nodes: what is given back is less then, never more.
    if (part.charged) end.charged_at = std::min(end.charged_at, part.charged_at);
  }
  if (foreign != nullptr) {
    end.fault = Fault::foreign_value;
    end.why = foreign->error;
    end.by = foreign->of.front();
  } else if (!ticket.cancelled() || end.cause == Cause::none) {
    end.charged = fall_back(fallback, now);
    end.by = core::deciding(
        each.size(), [this](std::size_t i) { return each[i].check.shadow ? nullptr : &each[i].decision; });
    if (each[end.by].cause != Cause::none) {
      end.source = Source::fallback;
      end.why = name_of(each[end.by].cause);
      end.charged_at = now;
    }
  }
  for (const Part& part : parts) {
    if (!part.charged || end.charged) continue;
    end.to_give_back.push_back(&part);
    for (const std::size_t i : part.of) each[i].decision = each[i].uncharged;
  }
  return end;
}

}  // namespace weir::redis
