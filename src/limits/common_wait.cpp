#include "limits/common_wait.hpp"

#include <algorithm>
#include <string_view>

namespace weir::inline v0_1::limits {
namespace {

// A pattern may match one spelling of an address and not another.
bool may_match_an_address(std::string_view pattern) {
  return pattern != "*" && pattern.find_first_not_of("0123456789abcdefABCDEF.:*") == std::string_view::npos;
}

bool costs_something(const CostRule& rule) {
  return rule.from.empty() && std::all_of(rule.cases.begin(), rule.cases.end(),
                                          [](const CostCase& each) { return each.cost != 0; });
}

bool costs_something(const NamedLimit& limit) {
  return costs_something(limit.cost) &&
         std::all_of(limit.overrides.begin(), limit.overrides.end(),
                     [](const Override& change) { return costs_something(change.cost); });
}

}  // namespace

CommonWaits::CommonWaits(const File& file) : file_(file) {
  for (const List& each : file.lists) lists_.push_back(grain_of(each.entries));
  for (const NamedLimit& each : file.limits) {
    alike_.push_back(waits_alike(each));
    costs_.push_back(costs_something(each));
  }
}

std::vector<Index> CommonWaits::with(Index lifted) const {
  std::vector<Index> all;
  for (Index at = lifted; at != kNone; at = file_.limits[at].within)
    if (alike_[at] && (at == lifted || costs_[at])) all.push_back(at);
  return all;
}

CommonWaits::Grain CommonWaits::grain_of(std::span<const ListEntry> entries) {
  Grain grain;
  for (const ListEntry& each : entries) {
    if (each.kind == ListEntry::Kind::pattern && may_match_an_address(each.text)) grain.spellings = true;
    if (each.kind != ListEntry::Kind::network) continue;
    auto& longest = each.network.first.v4 ? grain.longest.v4 : grain.longest.v6;
    longest = std::max(longest, int{each.network.bits});
  }
  return grain;
}

bool CommonWaits::holds_for_whole_keys(const NamedLimit& limit, const When& when) const {
  return std::all_of(when.begin(), when.end(), [&](const Condition& condition) {
    const auto by = std::find_if(limit.by.begin(), limit.by.end(),
                                 [&](const By& each) { return each.attribute == condition.attribute; });
    if (by == limit.by.end()) return false;
    const auto whole = [&](const Grain& grain) {
      return !grain.spellings && grain.longest.v4 <= by->group.v4 && grain.longest.v6 <= by->group.v6;
    };
    return whole(grain_of(condition.entries)) && std::all_of(condition.lists.begin(), condition.lists.end(),
                                                             [&](Index list) { return whole(lists_[list]); });
  });
}

// What one request of a key waits for, every other one of the key waits for too.
bool CommonWaits::waits_alike(const NamedLimit& limit) const {
  if (limit.reserve_place().line > 0 || !holds_for_whole_keys(limit, limit.allow)) return false;
  return std::all_of(limit.overrides.begin(), limit.overrides.end(), [&](const Override& change) {
    return change.windows.empty() || holds_for_whole_keys(limit, change.when);
  });
}

}  // namespace weir::limits
