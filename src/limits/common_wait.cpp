#include "limits/common_wait.hpp"

#include <algorithm>
#include <string_view>

namespace weir::limits {
namespace {

// A pattern may match one spelling of an address and not another.
bool may_match_an_address(std::string_view pattern) {
  return pattern != "*" && pattern.find_first_not_of("0123456789abcdefABCDEF.:*") == std::string_view::npos;
}

bool is_whole(const Entry& entry, core::Prefixes group) {
  switch (entry.kind) {
    case Entry::Kind::text:
      return true;
    case Entry::Kind::pattern:
      return !may_match_an_address(entry.text);
    case Entry::Kind::network:
      return entry.network.bits <= (entry.network.first.v4 ? group.v4 : group.v6);
  }
  return false;
}

bool costs(const CostRule& rule) {
  return rule.from.empty() && std::all_of(rule.cases.begin(), rule.cases.end(),
                                          [](const CostCase& each) { return each.cost != 0; });
}

// What one request of a key waits for, every other one of the key waits for too.
bool waits_alike(const File& file, const NamedLimit& limit) {
  if (limit.reserve.place.line > 0 || !holds_for_whole_keys(file, limit, limit.allow)) return false;
  return std::all_of(limit.overrides.begin(), limit.overrides.end(), [&](const Override& change) {
    return change.reserve.place.line == 0 &&
           (change.windows.empty() || holds_for_whole_keys(file, limit, change.when));
  });
}

}  // namespace

bool holds_for_whole_keys(const File& file, const NamedLimit& limit, const When& when) {
  return std::all_of(when.begin(), when.end(), [&](const Condition& condition) {
    const auto by = std::find_if(limit.by.begin(), limit.by.end(),
                                 [&](const By& each) { return each.attribute == condition.attribute; });
    if (by == limit.by.end()) return false;
    const auto whole = [&](const std::vector<Entry>& entries) {
      return std::all_of(entries.begin(), entries.end(),
                         [&](const Entry& entry) { return is_whole(entry, by->group); });
    };
    return whole(condition.entries) &&
           std::all_of(condition.lists.begin(), condition.lists.end(),
                       [&](Index list) { return whole(file.lists[list].entries); });
  });
}

bool always_costs(const NamedLimit& limit) {
  return costs(limit.cost) && std::all_of(limit.overrides.begin(), limit.overrides.end(),
                                          [](const Override& change) { return costs(change.cost); });
}

std::vector<Index> waited_for_with(const File& file, Index lifted) {
  std::vector<Index> all;
  for (Index at = lifted; at != kNone; at = file.limits[at].within) {
    const NamedLimit& limit = file.limits[at];
    if (waits_alike(file, limit) && (at == lifted || always_costs(limit))) all.push_back(at);
  }
  return all;
}

}  // namespace weir::limits
