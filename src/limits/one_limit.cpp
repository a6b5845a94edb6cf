#include "limits/one_limit.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>

#include "core/duration.hpp"
#include "core/reservation.hpp"
#include "limits/findings.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::limits {
namespace {

// The checks that are left are those of which that is so.
template <class Holds>
void keep(Matched& matched, const Holds& holds) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < matched.count; ++i) {
    if (!holds(i)) continue;
    matched.checks[left] = matched.checks[i];
    matched.checks[left].inside = store::Check::kNoGuarantee;
    matched.limit_of[left++] = matched.limit_of[i];
  }
  matched.count = left;
}

// Those of which that is so are gone. What is said of another check by its place keeps its sense.
template <class Gone>
void drop(Matched& matched, const Gone& gone) {
  std::size_t left = 0;
  std::array<std::uint8_t, store::kMostChecks> place{};
  for (std::size_t i = 0; i < matched.count; ++i) {
    if (gone(i)) continue;
    place[i] = static_cast<std::uint8_t>(left);
    store::Check& check = matched.checks[left] = matched.checks[i];
    if (check.inside != store::Check::kNoGuarantee) check.inside = place[check.inside];
    matched.limit_of[left++] = matched.limit_of[i];
  }
  matched.count = left;
}

// False: there was nothing else.
bool drop_slots(Matched& matched) {
  const bool had_any = matched.count > 0;
  drop(matched, [&](std::size_t i) { return core::counts_slots(matched.checks[i].limit->rule.algorithm); });
  return matched.count > 0 || !had_any;
}

// The names of all, each once, in the order of the request.
template <class NameOf>
std::string list(const Matched& matched, const NameOf& name_of) {
  std::string all;
  std::string last;
  for (std::size_t i = 0; i < matched.count; ++i) {
    const std::string name = name_of(i);
    if (name != last) all += (all.empty() ? "" : ", ") + name;
    last = name;
  }
  return all;
}

std::string period_of(const store::Check& check) {
  std::string text;
  core::append_window(check.limit->rule, text);
  return text;
}

}  // namespace

std::optional<std::string> keep_one(const Set& set, const OneLimit& which, Matched& matched) {
  const Set::CompiledLimit* const named = which.name.empty() ? nullptr : set.find(which.name);
  if (!which.name.empty() && named == nullptr) return set.unknown(which.name);
  if (!drop_slots(matched)) return "slots are taken by holds alone, and nothing else applies";
  if (named == nullptr && which.of == OneLimit::Of::all && !which.window) return std::nullopt;
  const auto is_meant = [&](std::size_t i) {
    return !store::is_guarantee(matched.all(), i) &&
           (named == nullptr || &set.limits()[matched.limit_of[i]] == named);
  };
  // Before any is gone: a check tells by its place which guarantee it is inside.
  std::array<bool, store::kMostChecks> meant{};
  for (std::size_t i = 0; i < matched.count; ++i) meant[i] = is_meant(i);
  keep(matched, [&](std::size_t i) { return meant[i]; });
  const auto begin = matched.limit_of.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(matched.count);
  if (std::adjacent_find(begin, end, std::not_equal_to<>()) != end) {
    return "say which limit; the request meets " +
           list(matched, [&](std::size_t i) { return set.limits()[matched.limit_of[i]].said->name; });
  }
  const auto periods = [&] {
    return list(matched, [&](std::size_t i) { return period_of(matched.checks[i]); });
  };
  if (matched.count == 0) return std::nullopt;
  const std::string name = in_quotes(set.limits()[matched.limit_of[0]].said->name);
  if (which.window) {
    const std::string all = periods();
    keep(matched,
         [&](std::size_t i) { return matched.checks[i].limit->rule.quota.rate().period == *which.window; });
    if (matched.count == 0) return "limit " + name + " has no such window; it has " + all;
  }
  if (which.of == OneLimit::Of::one && matched.count > 1)
    return "say which window; limit " + name + " has " + periods();
  const bool afresh = which.of == OneLimit::Of::all_that_start_afresh;
  if (afresh || which.of == OneLimit::Of::all_that_pause) {
    const auto pauses = [&](std::size_t i) {
      return core::can_pause(matched.checks[i].limit->rule.algorithm, afresh);
    };
    std::size_t count = 0;
    for (std::size_t i = 0; i < matched.count; ++i) count += pauses(i) ? 1 : 0;
    if (count > 0) keep(matched, pauses);
  }
  return std::nullopt;
}

void move_one(Matched& from, std::size_t which, Matched& into) {
  into.outcome = Matched::Outcome::meets;
  into.route = from.route;
  into.class_of = from.class_of;
  into.refused_by = kNone;
  into.ban = nullptr;
  into.skipped_of.clear();
  into.count = 1;
  into.limit_of[0] = from.limit_of[which];
  into.checks.assign(1, from.checks[which]);
  store::Check& check = into.checks[0];
  into.keys.assign(check.key).append(check.colocate);
  check.key = std::string_view(into.keys).substr(0, check.key.size());
  if (!check.colocate.empty()) check.colocate = std::string_view(into.keys).substr(check.key.size());
  into.own.assign(1, *check.limit);
  check.limit = into.own.data();
  drop(from, [which](std::size_t i) { return i == which; });
}

void drop_shadows_but(Matched& from, bool (*meets)(Algorithm)) {
  const auto is_gone = [meets](const store::Check& each) {
    return each.shadow && !meets(each.limit->rule.algorithm);
  };
  const std::span<const store::Check> all = from.all();
  if (std::none_of(all.begin(), all.end(), is_gone)) return;
  drop(from, [&](std::size_t i) { return is_gone(from.checks[i]); });
}

}  // namespace weir::limits
