#include "limits/costs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/number.hpp"
#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {
namespace {

bool refuse(std::string& error, std::string text) {
  error = std::move(text);
  return false;
}

}  // namespace

bool read_costs(std::string_view text, std::vector<NamedCost>& into, std::string& error) {
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t sign = one.find('=');
    if (sign == std::string_view::npos || sign == 0)
      return refuse(error, in_quotes(one) + " is not LIMIT=UNITS, as in tpm=3000,rpm=1");
    const std::int64_t units = core::parse_integer(one.substr(sign + 1)).value_or(-1);
    if (units < 0)
      return refuse(error, in_quotes(one.substr(sign + 1)) + " of " + in_quotes(one.substr(0, sign)) +
                               " is not an integer from 0 to " + std::to_string(kMostUnits));
    into.push_back({one.substr(0, sign), static_cast<std::uint64_t>(units)});
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool judge_costs(const Set& set, std::span<const NamedCost> costs, std::string& error) {
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto same = [&](const NamedCost& other) { return other.limit == costs[i].limit; };
    if (set.find(costs[i].limit) == nullptr) return refuse(error, set.unknown(costs[i].limit));
    if (std::any_of(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(i), same))
      return refuse(error, "the cost of " + in_quotes(costs[i].limit) + " is given twice");
    if (costs[i].units > kMostUnits)
      return refuse(error, "limits." + std::string(costs[i].limit) + ".cost: " +
                               std::to_string(costs[i].units) + " is above " + std::to_string(kMostUnits));
  }
  return true;
}

bool find_actuals(const Set& set, std::span<const NamedCost> costs, std::vector<store::Actual>& into,
                  std::string& error) {
  into.clear();
  if (!judge_costs(set, costs, error)) return false;
  for (const NamedCost& each : costs) {
    const Set::CompiledLimit& limit = *set.find(each.limit);
    if (limit.said->hold.estimate == 0)
      return refuse(error, "limit " + in_quotes(each.limit) + " has no hold, so there is nothing to settle");
    store::Actual& actual = into.emplace_back(store::Actual{limit.said->name, {}, each.units});
    for (const Set::Window& window : limit.windows) actual.limits.push_back(window.limit.id);
  }
  return true;
}

}  // namespace weir::limits
