#include <algorithm>
#include <unordered_map>

#include "core/reservation.hpp"
#include "limits/gateways.hpp"
#include "limits/guarantees.hpp"
#include "limits/judge.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostChecks = 16;  // of a request: store::kMostChecks

std::string path_of(const File& file, const Route& route) {
  if (route.place.line == 0) return "limits";  // all of them, as there are no routes
  return "routes[" + std::to_string(&route - file.routes.data()) + "]";
}

void fill_meets(const File& file, Route& route) {
  std::vector<bool> met(file.limits.size(), false);
  for (const Index named : route.limits) {
    std::vector<Index> chain;
    for (Index at = named; at != kNone && !met[at]; at = file.limits[at].within) {
      met[at] = true;
      chain.push_back(at);
    }
    route.meets.insert(route.meets.end(), chain.rbegin(), chain.rend());
  }
}

// What counts as the max_wait of a route's requests: the least; 0: they do not wait.
nanoseconds longest_wait(const File& file, const Route& route) {
  nanoseconds least{-1};
  for (const Index index : route.meets) {
    const nanoseconds its = file.limits[index].max_wait;
    if (its.count() >= 0 && (least.count() < 0 || its < least)) least = its;
  }
  return std::max(least, nanoseconds{0});
}

// What keeps requests of the route from waiting; empty: nothing does.
std::string hinders(const File& file, const Route& route) {
  for (const Index index : route.meets) {
    const NamedLimit& limit = file.limits[index];
    for (const Window& window : limit.windows) {
      const Algorithm algorithm = window.rule.algorithm;
      if (!window.is_slots() && !core::counts_at_grant(algorithm) && !core::can_reserve(algorithm))
        return "no request can wait: it meets " + in_quotes(limit.name) + " too, which counts by " +
               core::name_of(algorithm);
    }
  }
  return {};
}

// 23
void judge_waiting(const File& file, const Route& route, std::vector<bool>& told, Findings& findings) {
  if (longest_wait(file, route).count() == 0) return;
  const std::string what = hinders(file, route);
  if (what.empty()) return;
  for (const Index own : route.meets) {
    const NamedLimit& limit = file.limits[own];
    if (limit.max_wait.count() < 0 || told[own]) continue;
    told[own] = true;
    findings.warn(FileRule::max_wait, limit.max_wait_place, "limits." + limit.name + ".max_wait", what);
  }
}

// 26
void judge_checks(const File& file, const Route& route, Findings& findings) {
  std::size_t checks = 0;
  for (const Index index : route.meets)
    checks += file.limits[index].windows.size() + (guarantees(file.limits[index]) ? 1 : 0);
  if (checks > kMostChecks)
    findings.error(FileRule::bounds, route.place, path_of(file, route),
                   std::to_string(checks) +
                       " checks for one request (a window is one, a guarantee another); at most " +
                       std::to_string(kMostChecks));
}

bool has(const Gateway& gateway, const std::string& attribute) {
  return std::find(kOfGateway.begin(), kOfGateway.end(), attribute) != kOfGateway.end() ||
         std::any_of(gateway.attributes.begin(), gateway.attributes.end(),
                     [&](const Gateway::Mapped& each) { return each.attribute == attribute; });
}

bool may_take(const Gateway& gateway, const Route& route) {
  return std::all_of(route.when.begin(), route.when.end(),
                     [&](const Condition& condition) { return has(gateway, condition.attribute); });
}

// It has slots, and a request of the gateway has all that it counts by.
bool takes_slot(const Gateway& gateway, const NamedLimit& limit) {
  return limit.slots.place.line > 0 && std::all_of(limit.by.begin(), limit.by.end(),
                                                   [&](const By& by) { return has(gateway, by.attribute); });
}

}  // namespace

// 28
void judge_gateways(const File& file, Findings& findings) {
  for (const Gateway& gateway : file.gateways) {
    std::vector<bool> told(file.limits.size(), gateway.holds);
    for (const Route& route : file.routes) {
      if (!may_take(gateway, route)) continue;
      for (const Index index : route.meets) {
        if (told[index] || !takes_slot(gateway, file.limits[index])) continue;
        told[index] = true;
        findings.warn(FileRule::gateways, gateway.place, "gateways." + gateway.name,
                      "a request that meets " + in_quotes(file.limits[index].name) +
                          " is an error, as that has in_flight; write hold: true");
      }
    }
  }
}

void judge_routes(File& file, Findings& findings) {
  std::vector<bool> used(file.limits.size(), false);
  std::vector<bool> told(file.limits.size(), false);
  std::unordered_map<std::string, std::size_t> by_when;  // the first of each
  for (std::size_t i = 0; i < file.routes.size(); ++i) {
    Route& route = file.routes[i];
    fill_meets(file, route);
    for (const Index index : route.meets) used[index] = true;
    judge_checks(file, route, findings);
    judge_waiting(file, route, told, findings);
    // 13
    const auto [first, fresh] = by_when.emplace(same_when(route.when), i);
    const auto rest = by_when.find("");
    const std::size_t before =
        rest != by_when.end() && rest->second < first->second ? rest->second : first->second;
    if (fresh && before == i) continue;
    findings.error(FileRule::reached, route.place, path_of(file, route),
                   "cannot be reached: the route on line " + std::to_string(file.routes[before].place.line) +
                       (file.routes[before].when.empty() ? " has no when" : " has the same when"));
  }
  for (std::size_t i = 0; i < file.limits.size(); ++i) {
    if (!used[i])
      findings.warn(FileRule::used, file.limits[i].place, "limits." + file.limits[i].name,
                    "no route uses it");
  }
}

}  // namespace weir::limits
