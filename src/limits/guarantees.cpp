#include "limits/guarantees.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "core/rule.hpp"
#include "limits/judge.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostKeys = 1'000'000;
constexpr std::string_view kAny = "*";  // of the parent's part of a key: every parent has one of its own

Wide greatest_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return std::max<Wide>(a, 1);
}

// Whether the sum of units / interval is at most 1 / `limit`; empty when 128 bits do not tell.
std::optional<bool> at_most_exactly(const std::map<std::uint64_t, std::uint64_t>& units,
                                    std::uint64_t limit) {
  Wide above = 0;
  Wide below = 1;
  for (const auto& [interval, count] : units) {
    const Wide shared = greatest_divisor(below, interval);
    Wide common = 0;
    Wide first = 0;
    Wide second = 0;
    if (__builtin_mul_overflow(below / shared, Wide{interval}, &common) ||
        __builtin_mul_overflow(above, Wide{interval} / shared, &first) ||
        __builtin_mul_overflow(Wide{count}, below / shared, &second) ||
        __builtin_add_overflow(first, second, &above))
      return std::nullopt;
    below = common;
    const Wide divisor = greatest_divisor(above, below);
    above /= divisor;
    below /= divisor;
  }
  Wide scaled = 0;
  return !__builtin_mul_overflow(above, Wide{limit}, &scaled) && scaled <= below;
}

// What one key may count on: the fastest of the rates and the greatest of the bursts that it may have.
struct Claim {
  std::uint64_t interval_ns = 0;
  std::uint64_t burst = 0;
  bool settled = false;  // what comes before in the file does not count for it

  void add(const core::Rule& rule, bool always) {
    if (settled) return;
    const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    interval_ns = interval_ns == 0 ? interval : std::min(interval_ns, interval);
    burst = std::max(burst, static_cast<std::uint64_t>(rule.quota.burst()));
    settled = always;
  }
};

// The keys of a child that one of its guarantees is for.
struct FileKeys {
  std::string uncountable{};  // why nobody can count them
  struct Key {
    std::string parent;  // the parent's part; kAny when it is not said
    std::string own;
  };
  std::vector<Key> all{};
  bool broken = false;  // a part of `when` is wrong, and told
};

// The values that `condition` allows; empty and a reason when they are not a number of single keys.
std::set<std::string> values_of(const File& file, const Condition& condition, core::Prefixes group,
                                std::string& why) {
  std::set<std::string> values;
  const auto add = [&](const std::vector<ListEntry>& entries) {
    for (const ListEntry& entry : entries) {
      const bool single = entry.kind == ListEntry::Kind::text ||
                          (entry.kind == ListEntry::Kind::network &&
                           entry.network.bits >= (entry.network.first.v4 ? group.v4 : group.v6));
      if (!single) {
        why = in_quotes(entry.text) + " may be any number of values of " + condition.attribute;
        return;
      }
      std::string value = entry.text;
      if (entry.kind == ListEntry::Kind::network) {
        value.clear();
        core::append_address(entry.text.substr(0, entry.text.find('/')), group, value);
      }
      values.insert(std::to_string(value.size()) + ":" + value);
    }
  };
  add(condition.entries);
  for (const Index list : condition.lists) add(file.lists[list].entries);
  return values;
}

FileKeys keys_of(const File& file, const NamedLimit& child, const NamedLimit& parent, const When& when) {
  FileKeys keys;
  keys.all.push_back({"", ""});
  bool pinned = true;
  for (const By& by : child.by) {
    const bool of_parent = std::any_of(parent.by.begin(), parent.by.end(),
                                       [&](const By& each) { return each.attribute == by.attribute; });
    const auto condition = std::find_if(
        when.begin(), when.end(), [&](const Condition& each) { return each.attribute == by.attribute; });
    std::string why = by.attribute + " may be anything";
    std::set<std::string> values;
    if (condition != when.end()) {
      why.clear();
      keys.broken = keys.broken || (condition->entries.empty() && condition->lists.empty());
      values = values_of(file, *condition, by.group, why);
    }
    if (!why.empty() && !of_parent) {
      keys.uncountable = why;
      return keys;
    }
    if (!why.empty()) {
      pinned = false;
      continue;
    }
    if (keys.all.size() * values.size() > kMostKeys) {
      keys.uncountable = "there are more than " + std::to_string(kMostKeys);
      return keys;
    }
    std::vector<FileKeys::Key> longer;
    longer.reserve(keys.all.size() * values.size());
    for (const FileKeys::Key& key : keys.all) {
      for (const std::string& value : values) {
        FileKeys::Key next = key;
        (of_parent ? next.parent : next.own) += value;
        longer.push_back(std::move(next));
      }
    }
    keys.all = std::move(longer);
  }
  if (!pinned) {
    for (FileKeys::Key& key : keys.all) key.parent = kAny;
  }
  return keys;
}

struct Sum {
  RateSum rates;
  Wide bursts = 0;
};

struct NamedReserve {
  int from = kOwn;
  Reserve reserve;
};

// A pattern may match one spelling of an address and not another.
bool may_match_an_address(std::string_view pattern) {
  return pattern != "*" && pattern.find_first_not_of("0123456789abcdefABCDEF.:*") == std::string_view::npos;
}

// Which overrides hold for all requests of a key of the limit or for none: those that name nothing but
// attributes of `by`, and tell neither two spellings of an address apart nor two addresses of one key.
class WholeKeys {
 public:
  explicit WholeKeys(const File& file) {
    for (const List& each : file.lists) lists_.push_back(grain_of(each.entries));
  }

  bool has(const NamedLimit& limit, const When& when) const {
    return std::all_of(when.begin(), when.end(), [&](const Condition& condition) {
      const auto by = std::find_if(limit.by.begin(), limit.by.end(),
                                   [&](const By& each) { return each.attribute == condition.attribute; });
      if (by == limit.by.end()) return false;
      const auto whole = [&](const Grain& grain) {
        return !grain.spellings && grain.longest.v4 <= by->group.v4 && grain.longest.v6 <= by->group.v6;
      };
      return whole(grain_of(condition.entries)) &&
             std::all_of(condition.lists.begin(), condition.lists.end(),
                         [&](Index list) { return whole(lists_[list]); });
    });
  }

 private:
  // How finely some entries tell addresses apart.
  struct Grain {
    core::Prefixes longest{0, 0};
    bool spellings = false;
  };
  static Grain grain_of(std::span<const ListEntry> entries) {
    Grain grain;
    for (const ListEntry& each : entries) {
      if (each.kind == ListEntry::Kind::pattern && may_match_an_address(each.text)) grain.spellings = true;
      if (each.kind != ListEntry::Kind::network) continue;
      auto& longest = each.network.first.v4 ? grain.longest.v4 : grain.longest.v6;
      longest = std::max(longest, int{each.network.bits});
    }
    return grain;
  }

  std::vector<Grain> lists_{};
};

class Judge {
 public:
  Judge(const File& file, const WholeKeys& whole, Findings& findings)
      : file_(file), whole_(whole), findings_(findings) {}

  // Gathers what the children of `parent` are guaranteed. False when one of them cannot be counted.
  bool gather(Index parent) {
    bool right = true;
    for (const NamedLimit& child : file_.limits) {
      if (child.within != parent) continue;
      std::unordered_map<std::string, std::unordered_map<std::string, Claim>>
          demands;  // by parent, by own key
      const auto add = [&](const Guarantee& guarantee, const When& when, int from, bool settles) {
        if (guarantee.place.line == 0) return;
        const FileKeys keys = keys_of(file_, child, file_.limits[parent], when);
        if (keys.broken) right = false;
        if (!keys.uncountable.empty()) {
          right = false;
          findings_.error(FileRule::guarantees, guarantee.place, path_of(child, from, "guarantee"),
                          "nobody can count its keys: " + keys.uncountable +
                              "; give it in an override whose when names them as texts");
          return;
        }
        for (const FileKeys::Key& key : keys.all) demands[key.parent][key.own].add(guarantee.rule, settles);
      };
      for (int i = static_cast<int>(child.overrides.size()) - 1; i >= 0; --i) {
        const Override& change = child.overrides[static_cast<std::size_t>(i)];
        // One without an end that holds for all requests of its keys. (An address may be one of several that
        // have one key.)
        const bool always = change.until == kNever && whole_.has(child, change.when);
        add(change.guarantee, change.when, i, always);
      }
      add(child.guarantee, {}, kOwn, true);
      for (const auto& [of_parent, keys] : demands) {
        Sum& sum = sums_[of_parent];
        for (const auto& [own, demand] : keys) {
          sum.rates.add(demand.interval_ns, 1);
          sum.bursts += demand.burst;
        }
      }
    }
    return right;
  }

  // 16, of every window of `parent`, as its own numbers and its overrides have them.
  void judge(const NamedLimit& parent) {
    std::vector<NamedReserve> reserves = {{kOwn, parent.reserve}};
    for (int i = 0; i < static_cast<int>(parent.overrides.size()); ++i) {
      const Reserve& reserve = parent.overrides[static_cast<std::size_t>(i)].reserve;
      if (reserve.place.line > 0) reserves.push_back({i, reserve});
    }
    const auto smaller = [](const NamedReserve& a, const NamedReserve& b) {
      return a.reserve.share < b.reserve.share;
    };
    for (Index window = 0; window < parent.windows.size(); ++window) {
      if (parent.windows[window].is_slots()) continue;
      const std::vector<RuleSource> rules = rules_of(parent, window);
      for (const RuleSource& source : rules) {
        if (!source.lifted) judge_rate(parent, source);
      }
      judge_pairs(reserves, rules, smaller, smaller_burst,
                  [&](const NamedReserve& reserve, const RuleSource& source) {
                    if (!source.lifted) judge_burst(parent, source, reserve);
                  });
    }
  }

 private:
  template <class Wrong>
  void of_each_parent(const Wrong& wrong) const {
    const auto any = sums_.find(std::string(kAny));
    for (const auto& [of_parent, sum] : sums_) {
      Sum total = sum;
      if (any != sums_.end() && of_parent != kAny) total = together(sum, any->second);
      if (wrong(total)) return;  // one is told
    }
  }
  static Sum together(Sum sum, const Sum& other) {
    sum.rates.add(other.rates);
    sum.bursts += other.bursts;
    return sum;
  }

  void judge_rate(const NamedLimit& parent, const RuleSource& source) {
    const Quota& quota = source.rule.quota;
    of_each_parent([&](const Sum& sum) {
      if (sum.rates.at_most(static_cast<std::uint64_t>(quota.emission_interval().count()))) return false;
      const auto period = static_cast<std::uint64_t>(quota.rate().period.count());
      const std::string text = core::to_text(source.rule);
      findings_.error(FileRule::guarantees, source.place, path_of(parent, source.from, "rate"),
                      "the guarantees within it add up to " + sum.rates.per(period) +
                          text.substr(text.find('/'), text.find(' ') - text.find('/')) + ", more than " +
                          in_quotes(text));
      return true;
    });
  }

  void judge_burst(const NamedLimit& parent, const RuleSource& source, const NamedReserve& named) {
    const int from = named.from;
    const Reserve& reserve = named.reserve;
    const Wide kept = Wide{static_cast<std::uint64_t>(source.rule.quota.burst())} * reserve.share.millionths;
    of_each_parent([&](const Sum& sum) {
      if (sum.bursts * Share::kWhole <= kept) return false;
      const auto text = [](Wide units) { return std::to_string(static_cast<std::uint64_t>(units)); };
      const bool unsaid = reserve.place.line == 0;
      findings_.error(FileRule::guarantees, unsaid ? source.place : reserve.place,
                      path_of(parent, from, unsaid ? "rate" : "reserve"),
                      unsaid
                          ? "guarantees are within it, so it must have a reserve of at least " +
                                text(sum.bursts) + " units of its burst"
                          : to_text(reserve.share) + " of the burst of " +
                                in_quotes(core::to_text(source.rule)) + " is " + text(kept / Share::kWhole) +
                                "; the bursts of the guarantees within it add up to " + text(sum.bursts));
      return true;
    });
  }

  const File& file_;
  const WholeKeys& whole_;
  Findings& findings_;
  std::map<std::string, Sum> sums_;  // by the parent's part of the keys
};

}  // namespace

bool guarantees(const NamedLimit& limit) {
  return limit.guarantee.place.line > 0 ||
         std::any_of(limit.overrides.begin(), limit.overrides.end(),
                     [](const Override& each) { return each.guarantee.place.line > 0; });
}

void RateSum::add(const RateSum& other) {
  for (const auto& [interval, units] : other.units_) units_[interval] += units;
}

bool RateSum::at_most(std::uint64_t interval_ns) const {
  if (const auto exactly = at_most_exactly(units_, interval_ns)) return *exactly;
  Wide sum = 0;  // of 2^64 parts
  for (const auto& [interval, units] : units_) {
    const Wide share = Wide{units} * interval_ns;
    if (share > interval) return false;
    sum += ((share << 64) + interval - 1) / interval;
  }
  return sum <= Wide{1} << 64;
}

std::string RateSum::per(std::uint64_t period_ns) const {
  Wide thousandths = 0;
  for (const auto& [interval, units] : units_)
    thousandths += (Wide{units} * period_ns * 1000 + interval - 1) / interval;
  std::string text = std::to_string(static_cast<std::uint64_t>(thousandths / 1000));
  if (const auto rest = static_cast<unsigned>(thousandths % 1000); rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

void judge_guarantees(const File& file, Findings& findings) {
  std::set<Index> parents;
  for (const NamedLimit& limit : file.limits) {
    if (!guarantees(limit)) continue;
    if (limit.within != kNone) {
      parents.insert(limit.within);
      continue;
    }
    if (limit.within_place.line > 0) continue;  // what it is within is wrong, and told
    for (int i = kOwn; i < static_cast<int>(limit.overrides.size()); ++i) {
      const Guarantee& guarantee =
          i == kOwn ? limit.guarantee : limit.overrides[static_cast<std::size_t>(i)].guarantee;
      if (guarantee.place.line > 0)
        findings.error(FileRule::guarantees, guarantee.place, path_of(limit, i, "guarantee"),
                       "the limit has no within, so nobody guarantees it");
    }
  }
  if (parents.empty()) return;
  const WholeKeys whole(file);
  for (const Index parent : parents) {
    Judge judge(file, whole, findings);
    if (judge.gather(parent)) judge.judge(file.limits[parent]);
  }
}

}  // namespace weir::limits
