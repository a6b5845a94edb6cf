#include "limits/match.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "limits/identity.hpp"

namespace weir::inline v0_1::limits {
namespace {

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 32;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

}  // namespace

struct MatchMemory::Work {
  // A limit that a request meets, with what the request makes of its numbers.
  struct Meeting {
    const Set::CompiledLimit* limit = nullptr;
    Index number = kNone;
    TraceStep::What what = TraceStep::What::counted;
    bool shadow = false;
    bool steered = false;  // by operators; else the next two are not set
    const SteeredOverride* shadow_steered = nullptr;
    std::array<const SteeredOverride*, Set::kMostWindows> window_steered;
    bool changed = false;  // by an override of the file; else the next ones are not set
    // The override that has the number, or kNone.
    std::array<Index, Set::kMostWindows> window_by;
    Index leave_by = kNone;
    Index reserve_by = kNone;
    Index guarantee_by = kNone;
    Index cost_by = kNone;
    Index penalty_by = kNone;
    std::uint64_t cost = 1;
    std::size_t key_at = 0;
    std::size_t key_size = 0;
    std::size_t tag_at = 0;
    std::size_t tag_size = 0;

    // Null: the limit's own number is in force.
    const Set::Override* override_of(Index by) const {
      return changed && by != kNone ? &limit->overrides[by] : nullptr;
    }
  };

  std::vector<AttributeValue> values;        // by the numbers of the names
  std::array<Index, kMostAttributes> named;  // those of them that are present
  std::size_t named_count = 0;
  std::vector<Meeting> room;  // for the meetings, which are its first
  std::size_t met = 0;
  std::size_t key_bytes = 0;  // of Matched::keys, in use
  std::string scratch;

  std::span<const Meeting> meetings() const { return std::span(room).first(met); }
  // Another one. Its fields are set one by one: a whole Meeting copied costs more than finding its limit.
  Meeting& meet(const Set::CompiledLimit& limit, Index number) {
    if (met == room.size()) room.emplace_back();
    Meeting& meeting = room[met++];
    meeting.limit = &limit;
    meeting.number = number;
    meeting.what = TraceStep::What::counted;
    meeting.changed = false;
    meeting.steered = false;
    return meeting;
  }
};

MatchMemory::MatchMemory() : work_(std::make_unique<Work>()) {}
MatchMemory::~MatchMemory() = default;

namespace {

using Work = MatchMemory::Work;
using Meeting = Work::Meeting;

bool fail(std::string& error, std::string text) {
  error = std::move(text);
  return false;
}

bool take_values(const Set& set, const AttributeNames& names, std::span<const Attribute> attributes, bool any,
                 Work& work, Matched& into) {
  while (work.named_count > 0) work.values[work.named[--work.named_count]].clear();
  if (work.values.size() < names.size()) work.values.resize(names.size());
  if (attributes.size() > kMostAttributes) {
    return fail(into.error, std::to_string(attributes.size()) + " attributes; a request may have at most " +
                                std::to_string(kMostAttributes));
  }
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const auto& [name, value] = attributes[i];
    const Index number = names.find(name);
    bool twice = false;
    if (number != kNone) {
      AttributeValue& known = work.values[number];
      twice = known.present();
      known.set(value);
      work.named[work.named_count++] = number;
    } else if (!any && !set.knows_attribute(name)) {
      return fail(into.error, set.unknown_attribute(name));
    } else {
      const auto same = [asked = name](const Attribute& each) { return each.name == asked; };
      twice = std::any_of(attributes.begin(), attributes.begin() + static_cast<std::ptrdiff_t>(i), same);
    }
    if (twice) return fail(into.error, "attribute " + shortened(name) + " is given twice");
  }
  return true;
}

Index find_route(const Set& set, AttributeValues values) {
  Index best = kNone;
  const Candidates& candidates = set.route_candidates();
  candidates.find(values, [&](std::span<const Index> which) {
    for (const Index each : which) {
      if (each >= best) return;
      if (candidates.certain(each) || set.routes()[each].when.hold(values)) {
        best = each;
        return;
      }
    }
  });
  return best;
}

// The class that a request has: the one that it names, else its route's, else the default one; and never a
// more important one than its route's, or where that has none, than the file's ceiling.
bool find_class(const File& file, const Route* route, std::string_view name, Matched& into) {
  into.class_of = kNone;
  if (!name.empty()) {
    const auto found = std::find(file.classes.begin(), file.classes.end(), name);
    if (file.classes.empty())
      return fail(into.error, "class " + shortened(name) + ": the limits file has no classes");
    if (found == file.classes.end()) {
      std::string known;
      for (const std::string& each : file.classes) known += (known.empty() ? "" : ", ") + each;
      return fail(into.error, "unknown class " + shortened(name) + "; known: " + known);
    }
    into.class_of = static_cast<Index>(found - file.classes.begin());
  }
  if (file.classes.empty()) return true;
  const Index of_route = route != nullptr ? route->least_class : kNone;
  if (into.class_of == kNone) into.class_of = of_route != kNone ? of_route : file.default_class;
  const Index cap = of_route != kNone ? of_route : file.ceiling;
  if (cap != kNone) into.class_of = std::max(into.class_of, cap);
  return true;
}

void take_last(Index& best, Index number) {
  if (best == kNone || number > best) best = number;
}

// For each thing that overrides name, the last one that holds.
void find_overrides(AttributeValues values, Time now, Meeting& meeting) {
  const Set::CompiledLimit& limit = *meeting.limit;
  meeting.changed = true;
  meeting.window_by.fill(kNone);
  meeting.leave_by = meeting.reserve_by = meeting.guarantee_by = meeting.cost_by = meeting.penalty_by = kNone;
  limit.candidates.find(values, [&](std::span<const Index> which) {
    for (const Index each : which) {
      const Set::Override& change = limit.overrides[each];
      if (now >= change.until || !(limit.candidates.certain(each) || change.when.hold(values))) continue;
      for (const Set::Change& window : change.windows) take_last(meeting.window_by[window.window], each);
      if (change.leave) take_last(meeting.leave_by, each);
      if (change.reserve) take_last(meeting.reserve_by, each);
      if (change.guarantee) take_last(meeting.guarantee_by, each);
      if (change.cost) take_last(meeting.cost_by, each);
      if (change.penalty) take_last(meeting.penalty_by, each);
    }
  });
}

// What a unit of the request costs by the file; nothing when the file does not say. False when it is an
// error.
bool find_cost_of_file(const Set& set, const Work& work, const Meeting& meeting,
                       std::optional<std::uint64_t>& each, Matched& into) {
  const Set::CompiledLimit& limit = *meeting.limit;
  const Set::Override* change = meeting.override_of(meeting.cost_by);
  const Set::Cost& said = change != nullptr && change->cost ? *change->cost : limit.cost;
  if (said.from == kNone) {
    const auto holds = [&work](const auto& one) { return one.first.hold(work.values); };
    const auto first = std::find_if(said.cases.begin(), said.cases.end(), holds);
    if (first != said.cases.end()) each = first->second;
    return true;
  }
  const AttributeValue& value = work.values[said.from];
  const auto where = [&limit] { return "limits." + limit.said->name + ".cost: "; };
  if (!value.present()) {
    if (limit.said->hold.estimate != 0) return true;
    return fail(into.error,
                where() + "the request has no attribute '" + std::string(set.names()[said.from]) + "'");
  }
  const std::string_view text = value.text();
  const auto units = core::number_in<std::uint64_t>(text);
  if (!units || *units > kMostUnits) {
    return fail(into.error, where() + "attribute '" + std::string(set.names()[said.from]) +
                                "': " + shortened(text) + " is not an integer from 0 to " +
                                std::to_string(kMostUnits));
  }
  each = units;
  return true;
}

// At each limit: what the request says of it by name, else what the file says, for each unit of the request,
// else the request's units, else a hold's estimate, else 1.
bool find_cost(const Set& set, const Description& asked, const Work& work, Meeting& meeting, Matched& into) {
  const NamedLimit& said = *meeting.limit->said;
  for (const NamedCost& named : asked.costs) {
    if (named.limit != said.name) continue;
    meeting.cost_by = kNone;
    meeting.cost = named.units;
    return true;
  }
  std::optional<std::uint64_t> each;
  if (!find_cost_of_file(set, work, meeting, each, into)) return false;
  const std::uint64_t units = each.value_or(1);
  if (units != 0 && asked.cost > kMostUnits / units) {
    return fail(into.error, "limits." + said.name + ".cost: " + std::to_string(asked.cost) + " x " +
                                std::to_string(units) + " is above " + std::to_string(kMostUnits));
  }
  const bool is_guessed = !each && said.hold.estimate != 0 && asked.costs_an_estimate;
  meeting.cost = is_guessed ? said.hold.estimate : asked.cost * units;
  return true;
}

// A value that is long, or an address, so that no two are alike in the keys that they make. What stands for a
// long one, or for a network, is marked by a first character that is not a digit.
[[gnu::noinline]] char* write_odd_value(const AttributeValue& value, core::Prefixes group,
                                        std::string& scratch, Matched& into, char* to) {
  std::string_view text = value.text();
  const core::Address* const address = value.address();
  if (address == nullptr) {
    digest_of(text, scratch);
    into.long_values.add(scratch, text);
    return core::copy_text(scratch, to);
  }
  // An IPv4 address has one spelling.
  if (!address->v4 || group.v4 < 32 || text.find(':') != std::string_view::npos) {
    scratch.clear();
    core::append_address(text, group, scratch);
    text = scratch;
    if ((address->v4 ? group.v4 : group.v6) < (address->v4 ? 32 : 128)) *to++ = '/';
  }
  return write_part(text, to);
}

void append_key(const Set::CompiledLimit& limit, Work& work, Matched& into, Meeting& meeting) {
  const std::size_t begin = work.key_bytes;
  meeting.key_at = meeting.tag_at = begin;
  meeting.key_size = meeting.tag_size = 0;
  if (limit.by.empty()) return;
  if (into.keys.size() < begin + limit.by.size() * kLongestPart)
    into.keys.resize(begin + limit.by.size() * kLongestPart);
  char* const first = into.keys.data();
  char* at = first + begin;
  Index number = 0;
  for (const Set::KeyPart& each : limit.by) {
    char* const before = at;
    const AttributeValue& value = work.values[each.attribute];
    at = value.text().size() <= kLongestValue && value.address() == nullptr
             ? write_part(value.text(), at)
             : write_odd_value(value, each.group, work.scratch, into, at);
    if (number++ != limit.tag) continue;
    meeting.tag_at = static_cast<std::size_t>(before - first);
    meeting.tag_size = static_cast<std::size_t>(at - before);
  }
  work.key_bytes = static_cast<std::size_t>(at - first);
  meeting.key_size = work.key_bytes - begin;
}

// The attribute of `by` that the request lacks, or kNone.
Index missing_of(const Set::CompiledLimit& limit, AttributeValues values) {
  for (const Set::KeyPart& each : limit.by)
    if (!values[each.attribute].present()) return each.attribute;
  return kNone;
}

std::string lacks(const Set& set, const Set::CompiledLimit& limit, Index missing) {
  return "limits." + limit.said->name + ": the request has no attribute '" +
         std::string(set.names()[missing]) + "'";
}

void trace_step(Trace* trace, TraceStep::What what, Index limit, Index window = kNone,
                Index override_of = kNone, const SteeredOverride* steered = nullptr) {
  if (trace == nullptr) return;
  trace->steps.push_back({.what = what, .limit = limit, .window = window, .override_of = override_of});
  trace->steps.back().steered = steered;
}

// What operators have made of the limit, which does not change what it is in the file: the ban with the
// latest end, and of the others the latest. Of bans nothing else is of interest.
const SteeredOverride* find_steered(const Steered& steered, AttributeValues values, Time now,
                                    Meeting& meeting) {
  const SteeredOverride* ban = nullptr;
  meeting.steered = true;
  meeting.shadow_steered = nullptr;
  meeting.window_steered.fill(nullptr);
  const auto later = [](const SteeredOverride* best, const SteeredOverride& each) {
    return best == nullptr || each.number > best->number;
  };
  steered.find(meeting.number, values, [&](const SteeredOverride& each) {
    if (now >= each.until) return;
    if (each.what == Steer::ban) {
      if (ban == nullptr || each.until > ban->until) ban = &each;
    } else if (each.what == Steer::shadow_on || each.what == Steer::shadow_off) {
      if (later(meeting.shadow_steered, each)) meeting.shadow_steered = &each;
    } else {
      for (const Set::Change& window : each.windows)
        if (later(meeting.window_steered[window.window], each)) meeting.window_steered[window.window] = &each;
    }
  });
  if (meeting.shadow_steered != nullptr) meeting.shadow = meeting.shadow_steered->what == Steer::shadow_on;
  return ban;
}

void refuse(Work& work, Meeting& meeting, Matched& into) {
  append_key(*meeting.limit, work, into, meeting);
  into.refused_at = meeting.key_at;
  into.refused_size = meeting.key_size;
  into.refused_by = meeting.number;
}

// A ban beats everything; of several the one with the latest end says when to come back.
void ban(const SteeredOverride& its, Time now, Work& work, Meeting& meeting, Matched& into) {
  meeting.what = TraceStep::What::banned;
  meeting.shadow_steered = &its;
  if (into.ban != nullptr && into.ban->until >= its.until) return;
  refuse(work, meeting, into);
  into.ban = &its;
  into.banned_for = its.until - now;
}

// The limits that the request meets, with what the request makes of their numbers.
bool meet(const Set& set, const Steered* steered, const Description& asked, const Route& route, Time now,
          Work& work, Matched& into) {
  work.met = 0;
  for (const Index number : route.meets) {
    const Set::CompiledLimit& limit = set.limits()[number];
    Meeting& meeting = work.meet(limit, number);
    meeting.shadow = limit.said->shadow(now);
    if (const Index missing = missing_of(limit, work.values); missing != kNone) {
      if (limit.said->required) {
        into.lacks_required = true;
        return fail(into.error, lacks(set, limit, missing));
      }
      into.skipped_of.push_back(number);
      meeting.what = TraceStep::What::skipped;
      continue;
    }
    if (steered != nullptr && steered->steers(number)) [[unlikely]] {
      if (const SteeredOverride* its = find_steered(*steered, work.values, now, meeting)) {
        ban(*its, now, work, meeting, into);
        continue;
      }
    }
    if (limit.plain && asked.cost <= kMostUnits && asked.costs.empty()) {
      meeting.cost = asked.cost;
      append_key(limit, work, into, meeting);
      continue;
    }
    if (!limit.deny.empty() && limit.deny.hold(work.values)) {
      meeting.what = TraceStep::What::denied;
      if (!meeting.shadow && into.refused_by == kNone) refuse(work, meeting, into);
      continue;
    }
    if (!limit.allow.empty() && limit.allow.hold(work.values)) {
      meeting.what = TraceStep::What::exempt;
      continue;
    }
    if (limit.windows.empty()) {
      meeting.what = TraceStep::What::lifted;
      continue;
    }
    if (!limit.overrides.empty()) find_overrides(work.values, now, meeting);
    if (!find_cost(set, asked, work, meeting, into)) return false;
    append_key(limit, work, into, meeting);
  }
  return true;
}

// Apart, so that what is done for each check stays small.
[[gnu::noinline]] bool make_room(Matched& into) {
  if (into.count == store::kMostChecks)
    return fail(into.error, "the request meets more than " + std::to_string(store::kMostChecks) +
                                " windows and guarantees");
  into.checks.emplace_back();
  return true;
}

inline bool add_check(const store::Limit& limit, const Meeting& keyed, std::uint64_t cost, bool shadow,
                      std::uint8_t inside, Matched& into) {
  if (into.count == into.checks.size() && !make_room(into)) return false;
  store::Check& check = into.checks[into.count];
  check.limit = &limit;
  check.key = {into.keys.data() + keyed.key_at, keyed.key_size};
  check.cost = weir::Cost{cost};
  check.colocate = {into.keys.data() + keyed.tag_at, keyed.tag_size};
  check.shadow = shadow;
  check.inside = inside;
  into.limit_of[into.count++] = keyed.number;
  return true;
}

// Of all that the request meets.
std::size_t most_windows(const Work& work) {
  std::size_t most = 0;
  for (const Meeting& each : work.meetings()) most += each.limit->windows.size();
  return std::min(most, store::kMostChecks);
}

// The share of its burst that a request like this of a class leaves.
std::uint64_t left_of(const Meeting& meeting, Index class_of) {
  const Set::Override* const change = meeting.override_of(meeting.leave_by);
  const std::vector<Share>* leave =
      change != nullptr && change->leave ? &*change->leave : &meeting.limit->leave;
  return leave->empty() ? 0 : (*leave)[std::min<std::size_t>(class_of, leave->size() - 1)].millionths;
}

// What the limit keeps from it, what is reserved included.
std::uint64_t kept_of(const Meeting& meeting, Index class_of) {
  const Set::CompiledLimit& limit = *meeting.limit;
  if (!meeting.changed && limit.leave.empty()) return limit.reserve.millionths;
  const Set::Override* const change = meeting.override_of(meeting.reserve_by);
  const Share reserve = change != nullptr ? change->reserve.value_or(limit.reserve) : limit.reserve;
  return std::min<std::uint64_t>(left_of(meeting, class_of) + reserve.millionths, Share::kWhole);
}

// What the first child that has something may count on: a check of its own, `inside`.
bool add_guarantee(const Meeting& parent, const Work& work, std::uint8_t& inside, Matched& into,
                   Trace* trace) {
  if (!parent.limit->guarantees) return true;
  for (const Meeting& each : work.meetings()) {
    if (each.what != TraceStep::What::counted || each.limit->said->within != parent.number) continue;
    const Set::Override* const change = each.override_of(each.guarantee_by);
    const std::optional<store::Limit>& found = change != nullptr ? change->guarantee : each.limit->guarantee;
    if (!found) continue;
    inside = static_cast<std::uint8_t>(into.count);
    // In the parent's units: what it is promised is the parent's.
    if (!add_check(*found, each, parent.cost, true, store::Check::kNoGuarantee, into)) return false;
    trace_step(trace, TraceStep::What::counted, each.number, kNone, each.changed ? each.guarantee_by : kNone);
    return true;
  }
  return true;
}

bool add_checks_of(const Meeting& meeting, const Work& work, Matched& into, Trace* trace) {
  const Set::CompiledLimit& limit = *meeting.limit;
  if (limit.plain && !meeting.steered && limit.leave.empty() && limit.reserve.millionths == 0 &&
      !limit.guarantees) {
    for (const Set::Window& window : limit.windows) {
      if (!add_check(window.limit, meeting, meeting.cost, meeting.shadow, store::Check::kNoGuarantee, into))
        return false;
      trace_step(trace, TraceStep::What::counted, meeting.number, window.number);
    }
    return true;
  }
  const std::uint64_t kept = kept_of(meeting, into.class_of);
  const Set::Override* const penalty = meeting.override_of(meeting.penalty_by);
  bool asked_guarantee = false;
  std::uint8_t inside = store::Check::kNoGuarantee;
  for (const Set::Window& window : limit.windows) {
    const SteeredOverride* const raised = meeting.steered ? meeting.window_steered[window.number] : nullptr;
    const SteeredOverride* const steered =
        meeting.steered && meeting.shadow_steered != nullptr ? meeting.shadow_steered : raised;
    const Index by = meeting.changed && raised == nullptr ? meeting.window_by[window.number] : kNone;
    const auto* const all = raised != nullptr ? &raised->windows
                            : by != kNone     ? &limit.overrides[by].windows
                                              : nullptr;
    const Set::Change* const change = all != nullptr ? Set::change_of(*all, window.number) : nullptr;
    if (change != nullptr && change->lifted) {
      trace_step(trace, TraceStep::What::lifted, meeting.number, window.number, by, steered);
      continue;
    }
    const store::Limit* counted = change != nullptr ? &change->limit : &window.limit;
    const bool is_slots = core::counts_slots(counted->rule.algorithm);
    if (is_slots) {
      inside = store::Check::kNoGuarantee;
    } else if (!std::exchange(asked_guarantee, true)) {
      if (!add_guarantee(meeting, work, inside, into, trace)) return false;
    }
    if ((kept > 0 || penalty != nullptr) && into.count < store::kMostChecks) {
      if (into.own.empty()) into.own.reserve(most_windows(work));  // none moves
      store::Limit& own = into.own.emplace_back(*counted);
      // A reserve is of rates.
      own.rule.kept = part_of(own.rule.quota, is_slots ? left_of(meeting, into.class_of) : kept);
      if (penalty != nullptr) own.penalty = penalty->penalty.value_or(own.penalty);
      counted = &own;
    }
    if (!add_check(*counted, meeting, meeting.cost, meeting.shadow, inside, into)) return false;
    trace_step(trace, TraceStep::What::counted, meeting.number, window.number, by, steered);
    if (trace == nullptr || !meeting.changed) continue;
    trace->steps.back().cost_by = meeting.cost_by;
    trace->steps.back().leave_by = meeting.leave_by;
    trace->steps.back().reserve_by = meeting.reserve_by;
    trace->steps.back().penalty_by = meeting.penalty_by;
  }
  return true;
}

}  // namespace

std::string key_text(const NamedLimit& limit, std::string_view key, const Matched& matched) {
  std::string text;
  for (const By& by : limit.by) {
    if (!text.empty()) text += ' ';
    text += by.attribute + '=';
    std::string_view value = key.substr(0, kDigestSize);
    if (key.starts_with('#')) {
      key.remove_prefix(value.size());
      value = matched.long_values.find(value);
    } else {
      value = take_part(key);
    }
    text += value;
  }
  return text;
}

bool match(const Set& set, const Description& asked, Time now, MatchMemory& memory, Matched& into,
           Trace* trace, const Steered* steered) {
  Work& work = memory.work();
  into.outcome = Matched::Outcome::free;
  into.refused_by = kNone;
  into.ban = nullptr;
  into.skipped_of.clear();
  into.long_values.clear();
  into.lacks_required = false;
  into.count = 0;
  into.own.clear();
  work.key_bytes = 0;
  const bool any = asked.takes_any_attribute || set.takes_any_attribute();
  const AttributeNames& names = steered != nullptr ? steered->names() : set.names();
  if (!take_values(set, names, asked.attributes, any, work, into)) return false;
  if (!asked.costs.empty() && !judge_costs(set, asked.costs, into.error)) return false;
  into.route = find_route(set, work.values);
  const Route* route = into.route != kNone ? set.routes()[into.route].said : nullptr;
  if (!find_class(set.file(), route, asked.class_name, into)) return false;
  if (trace != nullptr) *trace = {into.route, into.class_of, {}};
  if (route == nullptr) return true;
  if (!meet(set, steered, asked, *route, now, work, into)) return false;
  if (into.refused_by != kNone) {
    into.outcome = Matched::Outcome::refused;
    if (trace == nullptr) return true;
  }
  for (const Meeting& each : work.meetings()) {
    if (each.what != TraceStep::What::counted) {
      if (each.what == TraceStep::What::banned) {
        trace_step(trace, each.what, each.number, kNone, kNone, each.shadow_steered);
      } else if (each.what != TraceStep::What::lifted) {
        trace_step(trace, each.what, each.number);
      }
      continue;
    }
    if (!add_checks_of(each, work, into, trace)) return false;
  }
  if (into.outcome == Matched::Outcome::free && into.count > 0) into.outcome = Matched::Outcome::meets;
  return true;
}

bool find_states(const Set& set, std::span<const Attribute> attributes, std::string_view name,
                 MatchMemory& memory, Matched& into, std::vector<store::Check>& states) {
  Work& work = memory.work();
  work.key_bytes = 0;
  into.refused_by = kNone;
  into.ban = nullptr;
  into.long_values.clear();
  if (!take_values(set, set.names(), attributes, set.takes_any_attribute(), work, into)) return false;
  work.met = 0;
  const auto add = [&](Index number) {
    const Set::CompiledLimit& limit = set.limits()[number];
    Meeting& meeting = work.meet(limit, number);
    append_key(limit, work, into, meeting);
  };
  if (!name.empty()) {
    const Set::CompiledLimit* const named = set.find(name);
    if (named == nullptr) return fail(into.error, set.unknown(name));
    if (const Index missing = missing_of(*named, work.values); missing != kNone)
      return fail(into.error, lacks(set, *named, missing));
    add(static_cast<Index>(named - set.limits().data()));
  } else if (const Index route = find_route(set, work.values); route != kNone) {
    for (const Index number : set.routes()[route].said->meets) {
      if (missing_of(set.limits()[number], work.values) == kNone) add(number);
    }
  }
  for (const Meeting& each : work.meetings()) {
    const std::size_t first = states.size();
    const auto add_state = [&](const store::Limit& limit) {
      const bool known =
          std::any_of(states.begin() + static_cast<std::ptrdiff_t>(first), states.end(),
                      [&limit](const store::Check& state) { return state.limit->id == limit.id; });
      if (known) return;
      states.push_back({.limit = &limit,
                        .key = {into.keys.data() + each.key_at, each.key_size},
                        .colocate = {into.keys.data() + each.tag_at, each.tag_size}});
    };
    for (const Set::Window& window : each.limit->windows) add_state(window.limit);
    if (each.limit->guarantee) add_state(*each.limit->guarantee);
    for (const Set::Override& change : each.limit->overrides) {
      for (const Set::Change& window : change.windows) add_state(window.limit);
      if (change.guarantee) add_state(*change.guarantee);
    }
  }
  return true;
}

std::optional<std::string> WaitBounds::refuses_wait(std::optional<std::chrono::nanoseconds> asked) const {
  if (!max_wait || !asked || *asked <= *max_wait) return std::nullopt;
  return "max_wait is above " + core::to_text(*max_wait) + ", the least of the limits that the request meets";
}

std::optional<std::string> WaitBounds::refuses_hold(std::optional<std::chrono::nanoseconds> asked) const {
  if (!bounds_hold || !asked || *asked <= hold) return std::nullopt;
  return "hold is above " + core::to_text(hold) + ", the shortest ttl of the limits that the request meets";
}

WaitBounds wait_bounds(const Set& set, const Matched& matched) {
  WaitBounds waiting;
  std::optional<std::chrono::nanoseconds> hold;
  std::optional<std::chrono::nanoseconds> shadow_hold;
  const auto keep_least = [](std::optional<std::chrono::nanoseconds>& least, std::chrono::nanoseconds its) {
    least = std::min(least.value_or(its), its);
  };
  for (std::size_t i = 0; i < matched.count; ++i) {
    const NamedLimit& said = *set.limits()[matched.limit_of[i]].said;
    const bool shadow = matched.checks[i].shadow;
    if (said.max_wait.count() >= 0)
      keep_least(shadow ? waiting.shadow_wait : waiting.max_wait, said.max_wait);
    if (said.hold.estimate != 0) keep_least(shadow ? shadow_hold : hold, said.hold.ttl);
  }
  waiting.bounds_hold = hold.has_value();
  waiting.hold = hold ? *hold : shadow_hold.value_or(std::chrono::nanoseconds{0});
  return waiting;
}

Answer answer_of(const Set& set, const Matched& matched, const store::Request* answered) {
  if (matched.outcome == Matched::Outcome::refused) {
    Answer answer{false, 0, 0, {}, {}, set.limits()[matched.refused_by].said->name};
    if (matched.ban != nullptr) answer.retry_after = matched.banned_for;
    return answer;
  }
  if (answered == nullptr || answered->checks.empty() || answered->checks[answered->by].shadow) return {};
  const Decision& decision = answered->decision();
  return {decision.allowed(),   decision.limit,
          decision.remaining,   decision.retry_after,
          decision.reset_after, set.limits()[matched.limit_of[answered->by]].said->name};
}

}  // namespace weir::limits
