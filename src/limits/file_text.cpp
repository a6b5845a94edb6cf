#include "limits/file_text.hpp"

#include <vector>

#include "core/duration.hpp"
#include "core/rule.hpp"
#include "limits/findings.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {

std::string text_of(const File& file, const When& when) {
  std::vector<std::string> conditions;
  for (const Condition& condition : when) {
    std::vector<std::string> values;
    for (const Index list : condition.lists) values.push_back("@" + file.lists[list].name);
    for (const ListEntry& entry : condition.entries) values.push_back(entry.text);
    conditions.push_back(condition.attribute + ": " +
                         (values.size() == 1 ? values[0] : "[" + joined(values) + "]"));
  }
  return joined(conditions);
}

std::string text_of(const File& file, const CostRule& cost) {
  if (cost.place.line == 0) return "";
  if (!cost.from.empty()) return "from " + cost.from;
  std::vector<std::string> cases;
  for (const CostCase& each : cost.cases)
    cases.push_back(std::to_string(each.cost) +
                    (each.when.empty() ? "" : " when " + text_of(file, each.when)));
  return joined(cases, "; ");
}

std::string text_of(const File& file, const Leave& leave) {
  std::vector<std::string> shares;
  for (std::size_t i = 1; i < leave.shares.size(); ++i)
    shares.push_back(file.classes[i] + " " + to_text(leave.shares[i]));
  return joined(shares);
}

std::string text_of(const Reserve& reserve) { return reserve.place.line == 0 ? "" : to_text(reserve.share); }

std::string text_of(const Guarantee& guarantee) {
  return guarantee.place.line == 0 ? "" : core::to_text(guarantee.rule);
}

std::string text_of(const core::PenaltyTerms& penalty) {
  std::string text = core::to_text(penalty.time);
  if (penalty.grows())
    text += " growing " + thousandths(penalty.growing) + " to " + core::to_text(penalty.most);
  if (penalty.afresh) text += " then afresh";
  return text;
}

std::string text_of(const Penalty& penalty) {
  if (penalty.place.line == 0) return "";
  return text_of(penalty.rest);
}

std::string text_of(const StoreError& said) {
  if (said.place.line == 0) return "";
  if (said.what == OnStoreError::allow) return "allow";
  if (said.what == OnStoreError::deny) return "deny";
  return "local " + to_text(said.share);
}

std::string text_of(const Hold& hold) {
  if (hold.estimate == 0) return "";
  return (hold.says_estimate ? std::to_string(hold.estimate) + " for " : "for ") + core::to_text(hold.ttl) +
         ", at most " + to_text(hold.at_most);
}

std::string text_of(const LeaseTerms& lease) {
  return lease.units == 0 ? "" : std::to_string(lease.units) + " for " + core::to_text(lease.time);
}

std::string text_of(const File& file, const Override& change, const NamedLimit& limit) {
  std::vector<std::string> parts;
  for (const WindowChange& each : change.windows) {
    const Window& window = limit.windows[each.window];
    parts.push_back(!each.lifted        ? core::to_text(each.rule)
                    : window.is_slots() ? core::name_of(window.rule.algorithm) + " unlimited"
                                        : "unlimited/" + core::period_name(window.rule));
  }
  const auto part = [&parts](const char* what, const std::string& text) {
    if (!text.empty()) parts.push_back(std::string(what) + " " + text);
  };
  part("leave", text_of(file, change.leave));
  part("reserve", text_of(change.reserve));
  part("guarantee", text_of(change.guarantee));
  part("cost", text_of(file, change.cost));
  part("penalty", text_of(change.penalty));
  if (change.until != kNever) part("until", to_text(change.until));
  part("reason", change.reason);
  return joined(parts);
}

}  // namespace weir::limits
