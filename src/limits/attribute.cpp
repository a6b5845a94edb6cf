#include "limits/attribute.hpp"

#include <algorithm>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void add_all(std::vector<std::string>& names, const When& when) {
  for (const Condition& each : when) add_once(names, each.attribute);
}

void add_all(std::vector<std::string>& names, const CostRule& cost) {
  if (!cost.from.empty()) add_once(names, cost.from);
  for (const CostCase& each : cost.cases) add_all(names, each.when);
}

}  // namespace

std::vector<std::string> attributes_of(const File& file) {
  std::vector<std::string> names;
  for (const NamedLimit& limit : file.limits) {
    for (const By& by : limit.by) add_once(names, by.attribute);
    add_all(names, limit.deny);
    add_all(names, limit.allow);
    add_all(names, limit.cost);
    for (const Override& each : limit.overrides) {
      add_all(names, each.when);
      add_all(names, each.cost);
    }
  }
  for (const Route& route : file.routes) add_all(names, route.when);
  return names;
}

}  // namespace weir::limits
