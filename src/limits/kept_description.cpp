#include "limits/kept_description.hpp"

namespace weir::inline v0_1::limits {

KeptDescription::KeptDescription(const Description& asked)
    : class_name_(asked.class_name), cost_(asked.cost), costs_an_estimate_(asked.costs_an_estimate) {
  for (const Attribute& each : asked.attributes) {
    attributes_.emplace_back(each.name, each.value);
    bytes_ += 2 * sizeof(std::string) + each.name.size() + each.value.size();
  }
  for (const NamedCost& each : asked.costs) {
    costs_.emplace_back(each.limit, each.units);
    bytes_ += sizeof(std::string) + sizeof(std::uint64_t) + each.limit.size();
  }
}

bool KeptDescription::match(const Set& set, Time now, MatchMemory& memory, Matched& into, Trace* trace,
                            const Steered* steered) const {
  std::vector<Attribute> attributes;
  std::vector<NamedCost> costs;
  for (const auto& [name, value] : attributes_) attributes.push_back({name, value});
  for (const auto& [limit, units] : costs_) costs.push_back({limit, units});
  return limits::match(set, {attributes, cost_, class_name_, costs_an_estimate_, costs}, now, memory, into,
                       trace, steered);
}

}  // namespace weir::limits
