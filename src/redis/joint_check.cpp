#include "redis/joint_check.hpp"

#include <algorithm>

#include "core/severity.hpp"

namespace weir::redis {

void JointCheck::add(KeptCheck check, std::uint16_t slot) {
  auto part =
      std::find_if(parts.begin(), parts.end(), [slot](const Part& other) { return other.slot == slot; });
  if (part == parts.end()) part = parts.insert(part, Part{slot});
  part->of.push_back(each.size());
  each.push_back({std::move(check)});
}

std::vector<Ask> JointCheck::asks(const Part& part) const {
  std::vector<Ask> made;
  for (const std::size_t i : part.of) made.push_back(each[i].check.ask());
  return made;
}

bool JointCheck::fall_back(Fallback& fallback, nanoseconds now) {
  bool all = true;
  std::vector<std::size_t> counted;  // by the embedded store
  for (std::size_t i = 0; i < each.size(); ++i) {
    auto& [check, decision, local, cause] = each[i];
    if (cause != Cause::none) {
      const auto decided = Fallback::uncounted(check.limit, check.cost);
      if (!decided) counted.push_back(i);
      const std::int64_t burst = check.limit.rule.quota.burst();
      decision = decided.value_or(Decision{Verdict::allowed, burst, burst, std::nullopt, nanoseconds{0}});
      local = Fallback::kUncounted;
    }
    all = all && decision.allowed();
  }
  if (!all || counted.empty()) return all;
  std::vector<store::Check> checks;
  for (const std::size_t i : counted) checks.push_back(each[i].check.check());
  all = fallback.count(checks, now);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    each[counted[i]].decision = checks[i].decision;
    each[counted[i]].local = checks[i].hash;
  }
  return all;
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
    for (std::size_t i = 1; i < each.size(); ++i) {
      if (core::decides(each[i].decision, each[end.by].decision)) end.by = i;
    }
    if (each[end.by].cause != Cause::none) {
      end.source = Source::fallback;
      end.why = name_of(each[end.by].cause);
      end.charged_at = now;
    }
  }
  for (const Part& part : parts) {
    if (part.charged && !end.charged) end.to_give_back.push_back(&part);
  }
  return end;
}

}  // namespace weir::redis
