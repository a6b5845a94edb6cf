#include "limits/judge.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/duration.hpp"
#include "limits/parts.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

const Override& override_of(const NamedLimit& limit, int from) {
  return limit.overrides[static_cast<std::size_t>(from)];
}

bool same(const CostRule& a, const CostRule& b) {
  const auto plain = [](const CostRule& cost) {
    return cost.from.empty() &&
           (cost.cases.empty() || (cost.cases.size() == 1 && cost.cases[0].when.empty()));
  };
  if (!a.from.empty() || !b.from.empty()) return a.from == b.from;
  if (!plain(a) || !plain(b)) return false;
  return (a.cases.empty() ? 1 : a.cases[0].cost) == (b.cases.empty() ? 1 : b.cases[0].cost);
}

// 20: another window of the same limit, or of the same override, always denies first.
struct KeyNumbers {
  core::Rule rule;
  Position place;
};
void judge_windows(const std::string& path, const std::vector<KeyNumbers>& windows, Findings& findings) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Quota& quota = windows[i].rule.quota;
    for (std::size_t j = 0; j < windows.size(); ++j) {
      const Quota& other = windows[j].rule.quota;
      if (i == j || windows[i].rule.algorithm != windows[j].rule.algorithm) continue;
      // Windows that begin at different times may meet in one of this one's.
      if (!core::traits(windows[i].rule.algorithm).holds_in_any_span) continue;
      if (quota.burst() < other.burst() || quota.emission_interval() > other.emission_interval()) continue;
      const bool alike =
          quota.burst() == other.burst() && quota.emission_interval() == other.emission_interval();
      if (alike && i < j) continue;  // told of the second of the two
      findings.error(FileRule::binds, windows[i].place, path,
                     in_quotes(core::to_text(windows[i].rule)) + " can never bind: " +
                         in_quotes(core::to_text(windows[j].rule)) + " denies first, always");
      break;
    }
  }
}

// The things that some override before the one that is looked at has named.
struct Named {
  std::vector<bool> windows;
  bool leave = false;
  bool reserve = false;
  bool guarantee = false;
  bool cost = false;
  bool penalty = false;

  void add(const Override& change) {
    for (const WindowChange& window : change.windows) windows[window.window] = true;
    leave = leave || change.leave.place.line > 0;
    reserve = reserve || change.reserve.place.line > 0;
    guarantee = guarantee || change.guarantee.place.line > 0;
    cost = cost || change.cost.place.line > 0;
    penalty = penalty || change.penalty.place.line > 0;
  }
};

// 18. What an override before it has named, it may change back.
bool changes_something(const NamedLimit& limit, const Override& change, const Named& before) {
  for (const WindowChange& window : change.windows) {
    if (window.lifted || before.windows[window.window] || window.rule != limit.windows[window.window].rule)
      return true;
  }
  const bool leaves = change.leave.place.line > 0;
  if (leaves && (before.leave || change.leave.shares != limit.leave.shares)) return true;
  const bool reserves = change.reserve.place.line > 0;
  if (reserves && (before.reserve || change.reserve.share != limit.reserve.share)) return true;
  const bool guarantees = change.guarantee.place.line > 0;
  if (guarantees &&
      (before.guarantee || limit.guarantee.place.line == 0 || change.guarantee.rule != limit.guarantee.rule))
    return true;
  const bool penalises = change.penalty.place.line > 0;
  if (penalises && (before.penalty || change.penalty.rest != limit.penalty.rest)) return true;
  return change.cost.place.line > 0 && (before.cost || !same(change.cost, limit.cost));
}

// Whether `later` names all that `change` names.
bool names_all(const Override& later, const Override& change) {
  const auto named = [](Position a, Position b) { return a.line == 0 || b.line > 0; };
  return std::all_of(change.windows.begin(), change.windows.end(),
                     [&](const WindowChange& window) {
                       return std::any_of(
                           later.windows.begin(), later.windows.end(),
                           [&](const WindowChange& each) { return each.window == window.window; });
                     }) &&
         named(change.leave.place, later.leave.place) && named(change.reserve.place, later.reserve.place) &&
         named(change.guarantee.place, later.guarantee.place) && named(change.cost.place, later.cost.place) &&
         named(change.penalty.place, later.penalty.place);
}

// For each override a later one that matches whatever it does and names all that it names; kOwn: there is
// none.
std::vector<int> covered_by(const NamedLimit& limit) {
  std::vector<int> covered(limit.overrides.size(), kOwn);
  std::unordered_map<std::string, std::vector<int>> later;  // by what they match, the nearest last
  for (int i = static_cast<int>(limit.overrides.size()) - 1; i >= 0; --i) {
    const Override& change = override_of(limit, i);
    const std::string when = same_when(change.when);
    const auto find_in = [&](const std::vector<int>& candidates) {
      constexpr int kMostLooked = 100;  // so that the whole stays quick whatever a file has
      int looked = 0;
      for (auto at = candidates.rbegin(); at != candidates.rend() && looked < kMostLooked; ++at, ++looked) {
        const Override& candidate = override_of(limit, *at);
        if (candidate.until < change.until || !names_all(candidate, change)) continue;
        covered[static_cast<std::size_t>(i)] = *at;
        return;
      }
    };
    find_in(later[""]);
    if (!when.empty()) find_in(later[when]);
    later[when].push_back(i);
  }
  return covered;
}

void judge_overrides(const NamedLimit& limit, Findings& findings) {
  const std::vector<int> covered = covered_by(limit);
  Named before{std::vector<bool>(limit.windows.size())};
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i) {
    const Override& change = override_of(limit, i);
    const std::string path = path_of(limit, i, nullptr);
    std::vector<KeyNumbers> windows;
    for (const WindowChange& window : change.windows) {
      if (!window.lifted) windows.push_back({window.rule, window.place});
    }
    judge_windows(path + ".rate", windows, findings);
    for (const Condition& condition : change.when) {
      const bool in_by = std::any_of(limit.by.begin(), limit.by.end(),
                                     [&](const By& by) { return by.attribute == condition.attribute; });
      if (!in_by)
        findings.add(Severity::note, FileRule::override_counts, condition.place,
                     path + ".when." + condition.attribute,
                     "not in by: a key keeps one debt under whichever numbers its requests have");
    }
    if (!changes_something(limit, change, before)) {
      if (!findings.has_error(path))
        findings.warn(FileRule::override_counts, change.place, path, "changes nothing");
    } else if (const int later = covered[static_cast<std::size_t>(i)]; later != kOwn) {
      findings.warn(FileRule::override_counts, change.place, path,
                    "never counts: the override on line " +
                        std::to_string(override_of(limit, later).place.line) +
                        " matches whatever this one does, and the last that matches wins");
    }
    before.add(change);
  }
}

// The greatest of the costs that a limit or an override names.
struct GreatestCost {
  int from = kOwn;
  std::uint64_t cost = 1;
  Position place{};
};

// 21
void judge_cost(const NamedLimit& limit, Findings& findings) {
  std::vector<GreatestCost> costs;
  const auto add = [&](int from, const CostRule& rule) {
    GreatestCost greatest{from, rule.cases.empty() ? std::uint64_t{1} : 0, rule.place};
    for (const CostCase& one : rule.cases) {
      if (one.cost > greatest.cost) greatest = {from, one.cost, one.place};
    }
    if (!rule.from.empty()) greatest.cost = 1;
    costs.push_back(greatest);
  };
  add(kOwn, limit.cost);
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i) {
    if (override_of(limit, i).cost.place.line > 0) add(i, override_of(limit, i).cost);
  }
  const auto greater = [](const GreatestCost& a, const GreatestCost& b) { return a.cost > b.cost; };
  for (Index window = 0; window < limit.windows.size(); ++window) {
    if (limit.windows[window].is_slots()) continue;
    judge_pairs(costs, rules_of(limit, window), greater, smaller_burst,
                [&](const GreatestCost& cost, const RuleSource& source) {
                  const std::int64_t burst = source.rule.quota.burst();
                  if (source.lifted || cost.cost <= static_cast<std::uint64_t>(burst)) return;
                  findings.error(FileRule::cost, cost.place, path_of(limit, cost.from, "cost"),
                                 std::to_string(cost.cost) + " is above the burst of " +
                                     in_quotes(core::to_text(source.rule)) + " on line " +
                                     std::to_string(source.place.line) +
                                     ", so it could never pass; at most " + std::to_string(burst));
                });
  }
}

// A share that a limit or an override names.
struct NamedShare {
  int from = kOwn;
  Share share{};
  Position place{};
};

// 8
void judge_shares(const NamedLimit& limit, Findings& findings) {
  std::vector<NamedShare> reserves = {{kOwn, limit.reserve.share, limit.reserve.place}};
  const auto greatest = [](const Leave& leave) {
    return leave.shares.empty() ? Share{} : leave.shares.back();
  };
  std::vector<NamedShare> leaves = {{kOwn, greatest(limit.leave), limit.leave.place}};
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i) {
    const Override& change = override_of(limit, i);
    if (change.reserve.place.line > 0) reserves.push_back({i, change.reserve.share, change.reserve.place});
    if (change.leave.place.line > 0) leaves.push_back({i, greatest(change.leave), change.leave.place});
  }
  const auto greater = [](const NamedShare& a, const NamedShare& b) { return a.share > b.share; };
  judge_pairs(reserves, leaves, greater, greater, [&](const NamedShare& reserve, const NamedShare& leave) {
    const bool told = reserve.share.millionths == Share::kWhole;
    if (told || reserve.share.millionths + leave.share.millionths < Share::kWhole) return;
    const bool later = leave.from > reserve.from;
    findings.error(FileRule::classes, later ? leave.place : reserve.place,
                   path_of(limit, std::max(leave.from, reserve.from), later ? "leave" : "reserve"),
                   "the reserve of " + to_text(reserve.share) + " and the greatest leave of " +
                       to_text(leave.share) +
                       " are 100% or more together; the least important class could pass nothing");
  });
}

// 8: what a class leaves of the slots is rounded up.
void judge_slots(const NamedLimit& limit, Findings& findings) {
  if (limit.slots.place.line == 0) return;
  const auto judge = [&](const Leave& leave, int from) {
    if (leave.shares.empty()) return;
    for (const RuleSource& source : rules_of(limit, static_cast<Index>(limit.windows.size() - 1))) {
      core::Rule rule = source.rule;
      rule.kept = part_of(rule.quota, leave.shares.back().millionths);
      if (source.lifted || core::kept_slots(rule) < rule.quota.burst()) continue;
      findings.error(FileRule::classes, leave.place, path_of(limit, from, "leave"),
                     to_text(leave.shares.back()) + " of " + in_quotes(core::to_text(source.rule)) +
                         " on line " + std::to_string(source.place.line) +
                         ", in whole slots rounded up, leaves the least important class none");
    }
  };
  judge(limit.leave, kOwn);
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i) judge(override_of(limit, i).leave, i);
}

// 22: a call that is settled when its burst has drained gets nothing back.
void note_long_hold(const NamedLimit& limit, Findings& findings) {
  const auto time_of = [](const Window& window) {
    if (!core::has_burst(window.rule.algorithm)) return ~Wide{0};
    const Quota& quota = window.rule.quota;
    return Wide{static_cast<std::uint64_t>(quota.burst())} *
           static_cast<std::uint64_t>(quota.emission_interval().count());
  };
  const auto shortest =
      std::min_element(limit.windows.begin(), limit.windows.end(),
                       [&](const Window& a, const Window& b) { return time_of(a) < time_of(b); });
  if (shortest == limit.windows.end() || time_of(*shortest) >= Wide(limit.hold.ttl.count())) return;
  findings.add(Severity::note, FileRule::hold, limit.hold.ttl_place, "limits." + limit.name + ".hold.ttl",
               "what is settled later than " +
                   core::to_text(nanoseconds{static_cast<std::int64_t>(time_of(*shortest))}) +
                   " gets nothing back: by then the burst of " + in_quotes(core::to_text(shortest->rule)) +
                   " has drained");
}

// 22
void judge_hold(const NamedLimit& limit, Findings& findings) {
  if (limit.hold.estimate == 0 || limit.hold.at_most.millionths == 0) return;
  if (const Position reserve = limit.reserve_place(); limit.hold.at_most_place.line > 0 && reserve.line > 0) {
    findings.error(FileRule::hold, limit.hold.at_most_place, "limits." + limit.name + ".hold.at_most",
                   "holds of others could fill it, and refuse what the reserve on line " +
                       std::to_string(reserve.line) +
                       " keeps for guarantees; leave it out, and the limit has no at_most");
    return;
  }
  for (Index window = 0; window < limit.windows.size(); ++window) {
    for (const RuleSource& source : rules_of(limit, window)) {
      if (source.lifted || limit.windows[window].is_slots()) continue;
      const auto burst = static_cast<std::uint64_t>(source.rule.quota.burst());
      const Wide open = Wide{burst} * limit.hold.at_most.millionths;
      if (open >= Wide{limit.hold.estimate} * Share::kWhole) continue;
      findings.error(FileRule::hold, limit.hold.place, "limits." + limit.name + ".hold",
                     "at_most is " + to_text(limit.hold.at_most) + " of the burst of " +
                         in_quotes(core::to_text(source.rule)) + ", which is " +
                         std::to_string(static_cast<std::uint64_t>(open / Share::kWhole)) +
                         "; the estimate, " + std::to_string(limit.hold.estimate) + ", must fit into it");
    }
  }
  note_long_hold(limit, findings);
}

// Fixed windows rest where they are afresh then.
void judge_who_rests(const NamedLimit& limit, int from, const Penalty& penalty, Findings& findings) {
  if (penalty.place.line == 0 || !penalty.rest) return;
  for (const Window& each : limit.windows) {
    const Algorithm algorithm = each.rule.algorithm;
    const bool afresh = penalty.rest.afresh;
    if (each.is_slots() || core::can_pause(algorithm, afresh)) continue;
    return findings.error(FileRule::of_gcra, penalty.place, path_of(limit, from, "penalty"),
                          (afresh ? "gcra and fixed windows can do this; " : "only gcra can do this; ") +
                              in_quotes(core::to_text(each.rule)) + " counts by " + core::name_of(algorithm));
  }
}

// 35
void judge_penalty(const File& file, const NamedLimit& limit, Findings& findings) {
  judge_who_rests(limit, kOwn, limit.penalty, findings);
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i)
    judge_who_rests(limit, i, override_of(limit, i).penalty, findings);
  int from = kOwn;
  Position place = limit.penalty.place;
  for (int i = 0; place.line == 0 && i < static_cast<int>(limit.overrides.size()); ++i) {
    from = i;
    place = override_of(limit, i).penalty.place;
  }
  if (place.line == 0) return;
  const std::string path = path_of(limit, from, "penalty");
  if (const Position reserve = limit.reserve_place(); reserve.line > 0)
    return findings.error(FileRule::penalty, place, path,
                          "while a key rests nobody has what the reserve on line " +
                              std::to_string(reserve.line) + " keeps for guarantees");
  const auto number = static_cast<Index>(&limit - file.limits.data());
  const auto child = std::find_if(file.limits.begin(), file.limits.end(),
                                  [number](const NamedLimit& each) { return each.within == number; });
  if (child != file.limits.end()) {
    findings.add(Severity::note, FileRule::penalty, place, path,
                 "one denial makes all that is within it wait, as " + in_quotes(child->name) + " is");
  } else if (limit.by.empty()) {
    findings.add(Severity::note, FileRule::penalty, place, path,
                 "the limit has no by: one denial makes everybody wait");
  }
}

}  // namespace

std::string same_when(const When& when) {
  const auto sized = [](const std::string& text) { return std::to_string(text.size()) + ":" + text; };
  std::set<std::string> all;
  for (const Condition& condition : when) {
    std::set<std::string> values;
    for (const ListEntry& entry : condition.entries) values.insert("=" + sized(entry.text));
    for (const Index list : condition.lists) values.insert("@" + std::to_string(list) + ";");
    std::string text = sized(condition.attribute);
    for (const std::string& value : values) text += value;
    all.insert(sized(text));
  }
  std::string text;
  for (const std::string& each : all) text += each;
  return text;
}

bool smaller_burst(const RuleSource& a, const RuleSource& b) {
  if (a.lifted != b.lifted) return b.lifted;
  return a.rule.quota.burst() < b.rule.quota.burst();
}

std::vector<RuleSource> rules_of(const NamedLimit& limit, Index index) {
  std::vector<RuleSource> all = {{kOwn, false, limit.windows[index].rule, limit.windows[index].place}};
  for (int i = 0; i < static_cast<int>(limit.overrides.size()); ++i) {
    for (const WindowChange& change : override_of(limit, i).windows) {
      if (change.window == index) all.push_back({i, change.lifted, change.rule, change.place});
    }
  }
  return all;
}

std::string path_of(const NamedLimit& limit, int from, const char* key) {
  std::string path = "limits." + limit.name;
  if (from != kOwn) path += ".overrides[" + std::to_string(from) + "]";
  return key == nullptr ? path : path + "." + key;
}

void judge_hierarchy(File& file, Findings& findings) {
  std::vector<NamedLimit>& limits = file.limits;
  const auto told = [&](const NamedLimit& limit, std::string what) {
    findings.error(FileRule::within, limit.within_place, "limits." + limit.name + ".within", std::move(what));
  };
  // 0: not met yet; else the number of the walk that met it first.
  std::vector<Index> walk(limits.size(), 0);
  for (Index i = 0; i < limits.size(); ++i) {
    Index at = i;
    while (at != kNone && walk[at] == 0) {
      walk[at] = i + 1;
      at = limits[at].within;
    }
    if (at == kNone || walk[at] != i + 1) continue;
    std::string circle = limits[at].name;
    const Index first = at;
    for (Index next = limits[at].within; next != first; next = limits[next].within)
      circle += " -> " + limits[next].name;
    told(limits[first], "leads in a circle: " + circle + " -> " + limits[first].name);
    for (Index next = first; next != kNone;) {
      const Index after = limits[next].within;
      limits[next].within = kNone;
      next = after;
    }
  }
  for (const NamedLimit& limit : limits) {
    if (limit.within == kNone) continue;
    const NamedLimit& parent = limits[limit.within];
    for (const By& by : parent.by) {
      const bool has = std::any_of(limit.by.begin(), limit.by.end(),
                                   [&](const By& each) { return each.attribute == by.attribute; });
      if (!has)
        told(limit, in_quotes(parent.name) + " counts by " + by.attribute + ", which is not in the by of " +
                        in_quotes(limit.name));
    }
    for (const Window& window : parent.windows) {
      if (core::has_burst(window.rule.algorithm) || window.is_slots()) continue;
      findings.error(FileRule::of_gcra, limit.within_place, "limits." + limit.name + ".within",
                     "only gcra can do this; " + in_quotes(parent.name) + " counts by " +
                         core::name_of(window.rule.algorithm));
    }
  }
}

void judge_limits(const File& file, Findings& findings) {
  for (const NamedLimit& limit : file.limits) {
    std::vector<KeyNumbers> windows;
    for (const Window& window : limit.windows) windows.push_back({window.rule, window.place});
    judge_windows("limits." + limit.name + ".rate", windows, findings);
    judge_overrides(limit, findings);
    judge_cost(limit, findings);
    judge_shares(limit, findings);
    judge_slots(limit, findings);
    judge_hold(limit, findings);
    judge_penalty(file, limit, findings);
  }
}

}  // namespace weir::limits
