// What a limit says for the case that a shared store counts it.
#include <algorithm>

#include "limits/judge.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

// Of all windows.
std::vector<RuleSource> rules_of(const NamedLimit& limit) {
  std::vector<RuleSource> all;
  for (Index window = 0; window < limit.windows.size(); ++window) {
    const std::vector<RuleSource> rules = limits::rules_of(limit, window);
    all.insert(all.end(), rules.begin(), rules.end());
  }
  return all;
}

// 29: a share of the burst that is less than one unit. One is the least, so all servers together have more.
void judge_local_share(const NamedLimit& limit, Findings& findings) {
  const StoreError& said = limit.on_store_error;
  if (said.place.line == 0 || said.what != OnStoreError::local) return;
  const auto servers = static_cast<std::int64_t>(Share::kWhole / std::max(said.share.millionths, 1U));
  std::int64_t worst = 0;
  const RuleSource* of = nullptr;
  const std::vector<RuleSource> sources = rules_of(limit);
  for (const RuleSource& source : sources) {
    if (source.lifted) continue;
    const std::int64_t burst = source.rule.quota.burst();
    if (Wide{static_cast<std::uint64_t>(burst)} * said.share.millionths >= Wide{Share::kWhole}) continue;
    if (servers - burst <= worst) continue;
    worst = servers - burst;
    of = &source;
  }
  if (of == nullptr) return;
  findings.warn(FileRule::local_share, said.place, "limits." + limit.name + ".on_store_error",
                to_text(said.share) + " of the burst of " + in_quotes(core::to_text(of->rule)) +
                    " is less than one unit, and each server hands out one: " + std::to_string(servers) +
                    " servers together exceed the burst by " + std::to_string(worst));
}

// 30: of the worst of its numbers.
void judge_lease_units(const NamedLimit& limit, Findings& findings) {
  const RuleSource* of = nullptr;
  const std::vector<RuleSource> sources = rules_of(limit);
  for (const RuleSource& source : sources) {
    if (!source.lifted && (of == nullptr || smaller_burst(source, *of))) of = &source;
  }
  if (of == nullptr || limit.lease.units < static_cast<std::uint64_t>(of->rule.quota.burst())) return;
  findings.warn(FileRule::lease, limit.lease.place, "limits." + limit.name + ".lease",
                std::to_string(limit.lease.units) + " units are the whole burst of " +
                    in_quotes(core::to_text(of->rule)) + ": one server may take all that others could have");
}

// A limit whose every check needs the store: without a lease, or because of a guarantee within it.
bool is_asked_always(const NamedLimit& limit) {
  return !limit.windows.empty() && (limit.lease.units == 0 || limit.guarantee.place.line > 0);
}

// 30: a request is decided by leases when all limits that it meets have one.
void judge_lease_use(const File& file, Index index, Findings& findings) {
  const NamedLimit& limit = file.limits[index];
  const NamedLimit* other = nullptr;
  for (const Route& route : file.routes) {
    if (std::find(route.meets.begin(), route.meets.end(), index) == route.meets.end()) continue;
    const auto asked = std::find_if(route.meets.begin(), route.meets.end(),
                                    [&](Index each) { return is_asked_always(file.limits[each]); });
    if (asked == route.meets.end()) return;
    if (other == nullptr) other = &file.limits[*asked];
  }
  if (other == nullptr) return;
  findings.warn(FileRule::lease, limit.lease.place, "limits." + limit.name + ".lease",
                other == &limit ? "no request can spend it: a guarantee is always asked for"
                                : "no request can spend it: each meets " + in_quotes(other->name) +
                                      " too, or another limit that has no lease");
}

}  // namespace

void judge_store(const File& file, Findings& findings) {
  for (Index i = 0; i < file.limits.size(); ++i) {
    judge_local_share(file.limits[i], findings);
    if (file.limits[i].lease.units == 0) continue;
    judge_lease_units(file.limits[i], findings);
    judge_lease_use(file, i, findings);
  }
}

}  // namespace weir::limits
