#include "limits/explain.hpp"

#include <algorithm>

#include "core/address.hpp"
#include "core/duration.hpp"
#include "core/overdraft.hpp"
#include "core/printable.hpp"
#include "core/rule.hpp"
#include "limits/file_text.hpp"
#include "limits/scalars.hpp"
#include "limits/steered.hpp"
#include "weir/format.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::string_view kGuarantee = "guarantee";

std::string_view value_of(std::span<const Attribute> attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [name](const Attribute& each) { return each.name == name; });
  return found == attributes.end() ? std::string_view{} : found->value;
}

bool has(std::span<const Attribute> attributes, std::string_view name) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [name](const Attribute& each) { return each.name == name; });
}

std::string missing_of(const NamedLimit& limit, std::span<const Attribute> attributes) {
  for (const By& by : limit.by) {
    if (!has(attributes, by.attribute)) return by.attribute;
  }
  return "";
}

// What is known of a step without its check.
ExplainedCheck of_file(const File& file, const TraceStep& step, std::span<const Attribute> attributes,
                       bool guarantee) {
  const NamedLimit& limit = file.limits[step.limit];
  ExplainedCheck out;
  out.what = step.what;
  out.limit = limit.name;
  out.line = limit.place.line;
  if (step.window != kNone) {
    const Window& window = limit.windows[step.window];
    if (window.is_slots()) {
      out.window = core::name_of(window.rule.algorithm);
    } else {
      core::append_window(window.rule, out.window);
    }
    out.line = window.place.line;
  } else if (guarantee) {
    out.window = kGuarantee;
    if (limit.guarantee.place.line > 0) out.line = limit.guarantee.place.line;
  }
  for (const auto& [what, which] : {std::pair{"rate", step.override_of}, std::pair{"cost", step.cost_by},
                                    std::pair{"leave", step.leave_by}, std::pair{"reserve", step.reserve_by},
                                    std::pair{"penalty", step.penalty_by}}) {
    if (which == kNone) continue;
    const Override& change = limit.overrides[which];
    if (out.overridden.empty()) {
      out.override_line = change.place.line;
      out.reason = change.reason;
    }
    out.overridden.emplace_back(what, change.place.line);
  }
  if (step.what == TraceStep::What::skipped) {
    out.missing = missing_of(limit, attributes);
  } else {
    out.key = key_text(limit, attributes);
  }
  if (step.what == TraceStep::What::lifted) out.rate = "unlimited";
  if (const SteeredOverride* its = step.steered)
    out.steered = {.number = its->number, .reason = its->reason, .user = its->user, .until = its->until};
  return out;
}

std::string what_remains(const ExplainedCheck& check) {
  if (!check.decision) return "";
  const Decision& decision = *check.decision;
  std::string text =
      ", " + std::to_string(decision.remaining) + " of " + std::to_string(decision.limit) + " left";
  if (decision.retry_after) text += ", retry in " + core::to_text(*decision.retry_after);
  return text;
}

std::string line_of(const ExplainedCheck& check, const std::string& file, bool decides) {
  const auto at = [&file](std::uint32_t line) { return file + ":" + std::to_string(line); };
  std::string text = decides ? "* " : "  ";
  text += check.limit;
  if (check.window == kGuarantee) text += " guarantee";
  if (!check.rate.empty()) text += "  " + check.rate;
  text += "  " + at(check.line);
  for (const auto& [what, line] : check.overridden) {
    const bool is_first = &what == &check.overridden.front().first;
    if (!is_first && line == check.override_line) continue;
    text += (what == "rate" ? ", override " : ", override of " + std::string(what) + " ") + at(line);
    if (is_first && !check.reason.empty()) text += " (" + check.reason + ")";
  }
  if (check.steered)
    text += ", override " + std::to_string(check.steered->number) + " until " +
            to_text(check.steered->until) + " (" + check.steered->reason + ")";
  if (!check.key.empty()) text += "  key " + check.key;
  if (check.what == TraceStep::What::counted && check.cost != 1)
    text += "  cost " + std::to_string(check.cost);
  if (check.penalty) text += "  penalty " + text_of(check.penalty);
  if (check.refunds) text += "  refunds";
  text += "\n    " + verdict_of(check) + what_remains(check);
  if (!check.missing.empty()) text += ", the request has no '" + check.missing + "'";
  if (check.what == TraceStep::What::exempt) text += " by `allow`";
  if (check.what == TraceStep::What::denied) text += " by `deny`";
  if (check.what == TraceStep::What::banned) text += " by a ban";
  return core::printable(text.substr(0, text.find('\n'))) + "\n" +
         core::printable(text.substr(text.find('\n') + 1)) + "\n";
}

}  // namespace

std::string key_text(const NamedLimit& limit, std::span<const Attribute> attributes) {
  std::string key;
  for (const By& by : limit.by) {
    if (!key.empty()) key += ' ';
    key += by.attribute + '=';
    core::append_address(value_of(attributes, by.attribute), by.group, key);
  }
  return key;
}

Explanation explain(const File& file, const Trace& trace, std::span<const Attribute> attributes,
                    std::span<const store::Check> checks, const store::Request* answered) {
  Explanation out;
  if (trace.route != kNone) out.route_line = file.routes[trace.route].place.line;
  if (trace.class_of != kNone) out.class_of = file.classes[trace.class_of];
  std::size_t next = 0;
  for (const TraceStep& step : trace.steps) {
    const bool counted = step.what == TraceStep::What::counted;
    ExplainedCheck explained = of_file(file, step, attributes, counted && step.window == kNone);
    const bool denies = step.what == TraceStep::What::denied || step.what == TraceStep::What::banned;
    if (denies && out.by < 0) out.by = static_cast<int>(out.checks.size());
    if (counted && next < checks.size()) {
      const store::Check& check = checks[next];
      explained.rate = core::to_text(check.limit->rule);
      // A grant takes one slot, whatever it costs.
      const bool takes_one = core::counts_slots(check.limit->rule.algorithm) && check.cost.units > 1;
      explained.cost = takes_one ? 1 : check.cost.units;
      explained.shadow = check.shadow;
      explained.penalty = check.limit->penalty;
      explained.refunds = file.limits[step.limit].refunds && step.window != kNone &&
                          core::can_overdraw(check.limit->rule.algorithm);
      if (answered != nullptr) {
        explained.decision = check.decision;
        if (out.by < 0 && answered->by == next) out.by = static_cast<int>(out.checks.size());
      }
      ++next;
    }
    out.checks.push_back(std::move(explained));
  }
  return out;
}

std::string verdict_of(const ExplainedCheck& check) {
  switch (check.what) {
    case TraceStep::What::counted:
      break;
    case TraceStep::What::skipped:
      return "skipped";
    case TraceStep::What::exempt:
      return "exempt";
    case TraceStep::What::denied:
    case TraceStep::What::banned:
      return "denied";
    case TraceStep::What::lifted:
      return "unlimited";
  }
  if (!check.decision) return "counted";
  if (check.window == kGuarantee) return check.decision->allowed() ? "inside" : "borrows";
  if (check.decision->verdict == Verdict::allowed) return "allowed";
  if (check.shadow) return "would_deny";
  return std::string(weir::to_text(check.decision->verdict));
}

std::string to_text(const Explanation& explanation, const std::string& file) {
  std::string text = explanation.route_line > 0
                         ? "route  " + file + ":" + std::to_string(explanation.route_line)
                         : "no route";
  if (!explanation.class_of.empty()) text += "  class " + explanation.class_of;
  text = core::printable(text) + "\n";
  for (std::size_t i = 0; i < explanation.checks.size(); ++i)
    text += line_of(explanation.checks[i], file, static_cast<int>(i) == explanation.by);
  if (explanation.checks.empty()) text += "  meets no limit\n";
  return text;
}

}  // namespace weir::limits
