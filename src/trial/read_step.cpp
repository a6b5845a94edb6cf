#include "trial/read_step.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/duration.hpp"
#include "core/rule.hpp"
#include "limits/document.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;
using What = CaseStep::What;

constexpr std::array kStep = {FileKey{"at"},       FileKey{"times"},  FileKey{"as"},      FileKey{"cost"},
                              FileKey{"at_least"}, FileKey{"class"},  FileKey{"reserve"}, FileKey{"max_wait"},
                              FileKey{"hold"},     FileKey{"settle"}, FileKey{"cancel"},  FileKey{"extend"},
                              FileKey{"moment"},   FileKey{"charge"}, FileKey{"expect"}};
constexpr std::array kExpect = {
    FileKey{"allowed"},     FileKey{"denied"},    FileKey{"busy"},      FileKey{"granted"}, FileKey{"by"},
    FileKey{"retry_after"}, FileKey{"remaining"}, FileKey{"in_flight"}, FileKey{"wait"},    FileKey{"error"}};
constexpr std::array kCharge = {FileKey{"cost"},   FileKey{"remaining"}, FileKey{"pause"},
                                FileKey{"afresh"}, FileKey{"limit"},     FileKey{"window"}};

constexpr std::uint64_t kMostTimes = 1'000'000;

// A tests file has none of a limits file's rules; docs/limits.md numbers only those.
constexpr FileRule kNoRule = FileRule::none;

Read<std::uint64_t> read_count(std::string_view text) { return read_integer(text, 0, kMostTimes); }
Read<std::uint64_t> read_times(std::string_view text) { return read_integer(text, 1, kMostTimes); }
Read<std::uint64_t> read_units(std::string_view text) { return read_integer(text, 0, kMostUnits); }
// -1: no limit applies.
Read<std::int64_t> read_remaining(std::string_view text) {
  if (text == "-1") return -1;
  return read_integer(text, 0, kMostUnits).map([](std::uint64_t value) {
    return static_cast<std::int64_t>(value);
  });
}
Read<nanoseconds> read_retry(std::string_view text) {
  if (text == "none") return Expected::kNoRetry;
  return read_time_span(text);
}

// What is expected of a thing that need not be said.
template <class AttributeValue, class Reader>
void read_if(Context& context, const FileField& field, std::optional<AttributeValue>& value, Reader reader) {
  AttributeValue read{};
  if (field && read_text(context, field, read, reader)) value = read;
}

void read_as(Context& context, const FileField& as, CaseRequest& asked) {
  if (!is_map(context, as)) return;
  for (const FileField& attribute : members_of(as)) {
    const std::string name = attribute.path.substr(as.path.size() + 1);
    if (std::string wrong = wrong_attribute(name); !wrong.empty()) {
      context.error_at_key(kNoRule, attribute, std::move(wrong));
    } else if (is_text(context, attribute)) {
      asked.as.emplace_back(name, attribute.text());
    }
  }
}

void read_costs(Context& context, const FileField& costs, CaseRequest& asked) {
  for (const FileField& cost : members_of(costs)) {
    const std::string name = cost.path.substr(costs.path.size() + 1);
    std::uint64_t units = 0;
    if (limit_called(context, cost, name) != kNone && read_text(context, cost, units, read_units))
      asked.costs.emplace_back(name, units);
  }
}

// An integer, or units by limit.
void read_cost(Context& context, const FileField& cost, CaseRequest& asked) {
  if (cost.node->kind == YamlNode::Kind::map) return read_costs(context, cost, asked);
  asked.says_cost = read_text(context, cost, asked.cost, read_units);
}

}  // namespace

Index limit_called(Context& context, const FileField& field, const std::string& name) {
  const Index limit = context.limits.find(name);
  if (limit == kNone)
    context.error_at_key(kNoRule, field,
                         "no limit is called " + limits::quoted(name) + meant(name, context.limits.all()));
  return limit;
}

CaseRequest read_asked(Context& context, const FileField& field, const Map& map) {
  CaseRequest asked;
  if (const FileField as = map["as"]) {
    read_as(context, as, asked);
  } else {
    context.error_at_key(kNoRule, field, "missing as: the attributes of the request");
  }
  if (const FileField cost = map["cost"]) read_cost(context, cost, asked);
  if (const FileField class_of = map["class"]) {
    if (context.classes.all().empty()) {
      context.error(kNoRule, class_of, "the limits file has no classes");
    } else if (find_name(context, class_of, context.classes, "class") != kNone) {
      asked.class_of = class_of.text();
    }
  }
  return asked;
}

namespace {

// What is after the path of the map that it is in.
std::string name_in(const FileField& map, const FileField& member) {
  return member.path.substr(map.path.size() + 1);
}

bool is_hold_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// A hold that an earlier step has named; told when there is none.
void find_hold(Context& context, const FileField& field, const std::string& name, const StepsBefore& before,
               CaseStep& step) {
  step.hold_name = name;
  if (before.holds.find(name) == kNone)
    context.error_at_key(kNoRule, field,
                         "no hold is called " + limits::quoted(name) + meant(name, before.holds.all()) +
                             "; a step before this one names it by hold: " + name);
}

void name_hold(Context& context, const FileField& field, const std::string& name, const StepsBefore& before,
               CaseStep& step) {
  step.hold_name = name;
  if (!is_hold_name(name)) {
    context.error_at_key(kNoRule, field,
                         limits::quoted(name) +
                             " is neither a time such as 30s nor a name, which begins with a letter and has "
                             "letters, digits, _ and -");
  } else if (context.limits.find(name) != kNone) {
    context.error_at_key(kNoRule, field,
                         limits::quoted(name) + " is the name of a limit; a hold needs another");
  } else if (before.holds.find(name) != kNone) {
    context.error_at_key(kNoRule, field, "a second hold is called " + limits::quoted(name));
  } else if (step.times != 1) {
    context.error_at_key(
        kNoRule, field,
        "a hold that has a name is one request, and the step has " + std::to_string(step.times));
  }
  before.holds.add(name);
}

// A map of one name of a hold: its value. Of anything else there is not one, and that is told.
FileField named_one(Context& context, const FileField& map, std::string_view what) {
  const std::vector<FileField> members = members_of(map);
  if (members.size() == 1) return members[0];
  context.error_at_key(kNoRule, map, "has to name one hold: { NAME: " + std::string(what) + " }");
  return {};
}

// `30s`, or a name, or both as { name: 30s }.
void read_hold(Context& context, const FileField& hold, const StepsBefore& before, CaseStep& step) {
  step.reserves = true;
  if (hold.node->kind == YamlNode::Kind::map) {
    const FileField named = named_one(context, hold, "30s");
    if (!named) return;
    name_hold(context, named, name_in(hold, named), before, step);
    read_if(context, named, step.hold, read_time_span);
  } else if (is_text(context, hold)) {
    if (const auto length = read_time_span(hold.text())) {
      step.hold = *length;
    } else {
      name_hold(context, hold, hold.text(), before, step);
    }
  }
}

// What only a reservation has.
void read_reservation(Context& context, const Map& map, const StepsBefore& before, CaseStep& step) {
  if (const FileField reserve = map["reserve"]) read_text(context, reserve, step.reserves, read_switch);
  read_if(context, map["max_wait"], step.max_wait, read_time_span);
  if (const FileField hold = map["hold"]) read_hold(context, hold, before, step);
  step.reserves = step.reserves || step.max_wait;
}

// As much as there is of its cost.
void read_at_least(Context& context, const FileField& least, CaseStep& step) {
  CaseRequest& asked = step.asked;
  if (!read_text(context, least, asked.at_least, read_units)) return;
  if (step.reserves) {
    context.error(kNoRule, least, "a step that reserves has its whole cost or none of it");
  } else if (!asked.says_cost) {
    context.error(kNoRule, least, "needs a cost that is one number, which is the most");
  } else if (asked.at_least < 1 || asked.at_least > asked.cost) {
    context.error(
        kNoRule, least,
        "'" + least.text() + "' is not an integer from 1 to " + std::to_string(asked.cost) + ", the cost");
  }
}

// What was reserved last, at an actual or actuals by limit; or one by its name, which may say the same of it.
void read_settle(Context& context, const FileField& settle, const StepsBefore& before, CaseStep& step) {
  if (settle.node->kind == YamlNode::Kind::map) {
    const std::vector<FileField> members = members_of(settle);
    const bool of_limits =
        !members.empty() && std::all_of(members.begin(), members.end(), [&](const auto& each) {
          return context.limits.find(name_in(settle, each)) != kNone;
        });
    if (of_limits) return read_cost(context, settle, step.asked);
    const FileField named = named_one(context, settle, "1500");
    if (!named) return;
    find_hold(context, named, name_in(settle, named), before, step);
    return read_cost(context, named, step.asked);
  }
  if (is_text(context, settle) && is_hold_name(settle.text()))
    return find_hold(context, settle, settle.text(), before, step);
  read_cost(context, settle, step.asked);
}

void read_extend(Context& context, const FileField& extend, const StepsBefore& before, CaseStep& step) {
  if (!is_map(context, extend)) return;
  const FileField named = named_one(context, extend, "30s");
  if (!named) return;
  find_hold(context, named, name_in(extend, named), before, step);
  read_if(context, named, step.hold, read_time_span);
}

void read_window(Context& context, const FileField& window, CaseStep& step) {
  if (!is_text(context, window)) return;
  step.window = core::parse_period(window.text());
  if (!step.window)
    context.error(kNoRule, window,
                  limits::quoted(window.text()) + " is not a period such as 1m, 1d or month");
}

// One of cost, remaining and pause; an integer alone is a cost.
void read_charge(Context& context, const FileField& field, const Map& map, const FileField& charge,
                 CaseStep& step) {
  const bool is_cost = charge.node->kind != YamlNode::Kind::map;
  step.asked = read_asked(context, field, map);
  if (is_cost) return read_cost(context, charge, step.asked);
  const Map what(context, charge, kCharge);
  int said = 0;
  if (const FileField cost = what["cost"]; cost && ++said > 0) read_cost(context, cost, step.asked);
  if (const FileField left = what["remaining"]; left && ++said > 0) {
    step.form = Outside::Form::remaining;
    read_text(context, left, step.remaining, read_units);
  }
  if (const FileField pause = what["pause"]; pause && ++said > 0) {
    step.form = Outside::Form::pause;
    read_text(context, pause, step.pause.length, read_time_span);
  }
  if (const FileField afresh = what["afresh"]) {
    read_text(context, afresh, step.pause.afresh, limits::read_switch);
    if (!what["pause"]) context.error(kNoRule, afresh, "is said of a pause alone");
  }
  if (said != 1) context.error_at_key(kNoRule, charge, "says one of cost, remaining and pause");
  if (const FileField limit = what["limit"];
      limit && find_name(context, limit, context.limits, "limit") != kNone)
    step.limit = limit.text();
  if (const FileField window = what["window"]) read_window(context, window, step);
}

void read_slots_expected(Context& context, const FileField& slots, Expected& expected) {
  if (!is_map(context, slots)) return;
  for (const FileField& each : members_of(slots)) {
    const std::string name = name_in(slots, each);
    const Index limit = limit_called(context, each, name);
    std::uint64_t open = 0;
    if (limit == kNone || !read_text(context, each, open, read_count)) continue;
    const std::vector<Window>& windows = context.file.limits[limit].windows;
    if (std::none_of(windows.begin(), windows.end(), [](const Window& one) { return one.is_slots(); }))
      context.error_at_key(kNoRule, each, limits::quoted(name) + " has no in_flight");
    expected.in_flight.emplace_back(limit, open);
  }
}

// What is expected of a request's answer; a step of another kind has none.
void read_answer_expected(Context& context, const FileField& field, const Map& map, CaseStep& step) {
  Expected& expected = step.expected;
  read_if(context, map["allowed"], expected.allowed, read_count);
  read_if(context, map["denied"], expected.denied, read_count);
  read_if(context, map["busy"], expected.busy, read_count);
  read_if(context, map["granted"], expected.granted, read_units);
  if (expected.granted && step.asked.at_least == 0)
    context.error(kNoRule, map["granted"], "only a step with at_least says how much it was granted");
  read_if(context, map["retry_after"], expected.retry_after, read_retry);
  read_if(context, map["remaining"], expected.remaining, read_remaining);
  read_if(context, map["wait"], expected.wait, read_time_span);
  if (expected.wait && !step.reserves)
    context.error(kNoRule, map["wait"], "only a step that reserves waits; write reserve: true");
  if (const FileField by = map["by"]; by && find_name(context, by, context.limits, "limit") != kNone)
    expected.by = by.text();
  const std::uint64_t allowed = expected.allowed.value_or(0);
  const std::uint64_t sum = allowed + expected.denied.value_or(0);
  const bool both = expected.allowed && expected.denied;
  if (sum > step.times || (both && sum != step.times))
    context.error(kNoRule, field,
                  "allowed and denied add up to " + std::to_string(sum) + ", and the step has " +
                      std::to_string(step.times) + (step.times == 1 ? " request" : " requests"));
  if (expected.busy.value_or(0) > std::min(expected.denied.value_or(step.times), step.times - allowed))
    context.error(kNoRule, map["busy"], "those that are busy are among the denied, and there are fewer");
}

void read_expect(Context& context, const FileField& field, CaseStep& step) {
  if (!is_map(context, field)) return;
  const Map map(context, field, kExpect);
  step.expected.place = field.place();
  if (const FileField error = map["error"]; error && is_text(context, error))
    step.expected.error = error.text();
  if (const FileField slots = map["in_flight"]) read_slots_expected(context, slots, step.expected);
  if (step.what == What::asks) return read_answer_expected(context, field, map, step);
  const bool waits = step.what == What::awaits;
  if (waits) read_if(context, map["wait"], step.expected.wait, read_time_span);
  for (const FileKey& key : kExpect) {
    const FileField other = map[key.name];
    const std::string_view name = key.name;
    if (other && name != "error" && name != "in_flight" && !(waits && name == "wait"))
      context.error_at_key(
          kNoRule, other,
          waits ? "a step with moment expects wait, error and in_flight"
                : "a step that asks for nothing has no answer; it expects error and in_flight");
  }
}

// What a step does that asks for nothing; null when it asks.
struct StepVerb {
  const char* name;
  What what;
};
constexpr std::array kVerbs = {StepVerb{"settle", What::settles}, StepVerb{"cancel", What::cancels},
                               StepVerb{"extend", What::extends}, StepVerb{"moment", What::awaits},
                               StepVerb{"charge", What::charges}};

void refuse_others(Context& context, const Map& map, const StepVerb& verb) {
  for (const char* key : {"times", "cost", "at_least", "reserve", "max_wait", "hold", "settle", "cancel",
                          "extend", "moment", "charge", "as", "class"}) {
    const bool of_charge =
        verb.what == What::charges && (std::string_view(key) == "as" || std::string_view(key) == "class");
    if (const FileField other = map[key]; other && std::string_view(key) != verb.name && !of_charge)
      context.error_at_key(kNoRule, other,
                           std::string("a step with ") + verb.name + " asks for nothing else");
  }
}

void read_what(Context& context, const FileField& field, const Map& map, const StepsBefore& before,
               CaseStep& step) {
  for (const StepVerb& verb : kVerbs) {
    const FileField it = map[verb.name];
    if (!it) continue;
    step.what = verb.what;
    refuse_others(context, map, verb);
    if (verb.what == What::settles) return read_settle(context, it, before, step);
    if (verb.what == What::extends) return read_extend(context, it, before, step);
    if (verb.what == What::charges) return read_charge(context, field, map, it, step);
    if (is_text(context, it)) find_hold(context, it, it.text(), before, step);
    return;
  }
  step.asked = read_asked(context, field, map);
  read_reservation(context, map, before, step);
  if (const FileField least = map["at_least"]) read_at_least(context, least, step);
}

}  // namespace

CaseStep read_step(Context& context, const FileField& field, const StepsBefore& before) {
  CaseStep step;
  step.at = before.at;
  step.place = field.place();
  if (!is_map(context, field)) return step;
  const Map map(context, field, kStep);
  if (const FileField at = map["at"]; at && read_text(context, at, step.at, read_time_span)) {
    if (step.at < before.at)
      context.error(kNoRule, at,
                    "'" + at.text() + "' is before the step before it, at " + core::to_text(before.at));
    if (step.at > kNever - before.now)
      context.error(kNoRule, at, "'" + at.text() + "' is after the year 2261");
  }
  if (const FileField times = map["times"]) read_text(context, times, step.times, read_times);
  read_what(context, field, map, before, step);
  if (const FileField expect = map["expect"]) read_expect(context, expect, step);
  return step;
}

}  // namespace weir::limits
