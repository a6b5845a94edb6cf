#include "trial/read_step.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/duration.hpp"
#include "core/rule.hpp"
#include "limits/document.hpp"
#include "limits/scalars.hpp"
#include "trial/step_verbs.hpp"

namespace weir::inline v0_1::limits {
namespace {

using service::About;
using service::BodyMember;
using service::Tells;
using service::VerbRow;
using std::chrono::nanoseconds;
namespace members = service::members;

// What may be expected of a decision.
constexpr std::array kDecided = {FileKey{"allowed"},   FileKey{"denied"}, FileKey{"busy"},
                                 FileKey{"granted"},   FileKey{"by"},     FileKey{"retry_after"},
                                 FileKey{"remaining"}, FileKey{"wait"}};
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
Read<nanoseconds> read_period(std::string_view text) {
  if (const auto period = core::parse_period(text)) return *period;
  return tl::unexpected(limits::in_quotes(text) + " is not a period such as 1m, 1d or month");
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

// What is after the path of the map that it is in.
std::string name_in(const FileField& map, const FileField& member) {
  return member.path.substr(map.path.size() + 1);
}

void read_as(Context& context, const FileField& as, CaseRequest& asked) {
  if (!is_map(context, as)) return;
  for (const FileField& attribute : members_of(as)) {
    const std::string name = name_in(as, attribute);
    if (std::string wrong = wrong_attribute(name); !wrong.empty()) {
      context.error_at_key(kNoRule, attribute, std::move(wrong));
    } else if (is_text(context, attribute)) {
      asked.as.emplace_back(name, attribute.text());
    }
  }
}

void read_costs(Context& context, const FileField& costs, CaseRequest& asked) {
  for (const FileField& cost : members_of(costs)) {
    const std::string name = name_in(costs, cost);
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

void read_class(Context& context, const FileField& class_of, CaseRequest& asked) {
  if (context.classes.all().empty()) {
    context.error(kNoRule, class_of, "the limits file has no classes");
  } else if (find_name(context, class_of, context.classes, "class") != kNone) {
    asked.class_of = class_of.text();
  }
}

// The attributes of the request of `map`.
void read_who(Context& context, const FileField& map, const FileField& as, CaseRequest& asked) {
  if (as) return read_as(context, as, asked);
  context.error_at_key(kNoRule, map, "missing as: the attributes of the request");
}

}  // namespace

Index limit_called(Context& context, const FileField& field, const std::string& name) {
  const Index limit = context.limits.find(name);
  if (limit == kNone)
    context.error_at_key(kNoRule, field,
                         "no limit is called " + limits::in_quotes(name) + meant(name, context.limits.all()));
  return limit;
}

CaseRequest read_asked(Context& context, const FileField& field, const Map& map) {
  CaseRequest asked;
  read_who(context, field, map["as"], asked);
  if (const FileField cost = map["cost"]) read_cost(context, cost, asked);
  if (const FileField class_of = map["class"]) read_class(context, class_of, asked);
  return asked;
}

namespace {

// False when it was not written.
FileField said_in(const FileField& map, std::string_view name) {
  for (const FileField& each : members_of(map))
    if (name_in(map, each) == name) return each;
  return {};
}

bool is_hold_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// What a step asks: its verb, and what the verb's row lets it say.
class StepReader {
 public:
  StepReader(Context& context, const FileField& field, const StepsBefore& before, CaseStep& step)
      : context_(context), field_(field), before_(before), step_(step) {}

  void read() {
    const FileField verb = find_verb();
    if (!verb && (said_in(field_, "max_wait") || said_in(field_, "hold")))
      step_.verb = &service::verb("WEIR.RESERVE");
    step_.said.verb = step_.verb->verb;
    step_.said.explains = service::is_decision(step_.verb->tells);
    if (step_.verb->refunds()) step_.said.form = Outside::Form::refund;
    if (verb) step_.verb->about == About::id ? read_id(verb) : read_value(verb);
    collect(field_, own_words(!verb));
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i]) read_word(static_cast<BodyMember>(i), words_[i]);
  }

 private:
  // The first verb that is said; none: it checks, or reserves.
  FileField find_verb() {
    FileField found;
    for (const FileField& each : members_of(field_)) {
      const VerbRow* const row = verb_called(name_in(field_, each));
      if (row == nullptr) continue;
      if (const std::string_view why = why_no_step(*row); !why.empty()) {
        context_.error_at_key(kNoRule, each, "is not a step: " + std::string(why));
      } else if (found) {
        context_.error_at_key(kNoRule, each, a_step() + "asks for nothing else");
      } else {
        step_.verb = row;
        found = each;
      }
    }
    return found;
  }
  std::string a_step() const { return "a step with " + std::string(step_.verb->name()) + " "; }

  std::vector<std::string> own_words(bool may_have_verb) const {
    std::vector<std::string> own = {"at", "expect"};
    if (service::is_decision(step_.verb->tells)) own.emplace_back("times");
    if (step_.verb->about != About::id) own.emplace_back("as");
    for (const VerbRow& each : service::kVerbs)
      if (may_have_verb && why_no_step(each).empty()) own.emplace_back(each.name());
    return own;
  }

  std::vector<std::string> words() const {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_of(*step_.verb) & service::set_of(i)) != 0) words.emplace_back(service::kMemberNames[i]);
    return words;
  }

  // The words in `map`, which may have some of its own before them.
  void collect(const FileField& map, std::vector<std::string> known) {
    for (std::string& each : words()) known.push_back(std::move(each));
    for (const FileField& each : members_of(map)) {
      const std::string name = name_in(map, each);
      const BodyMember member = service::member_called(name);
      const bool misplaced = member != service::kMembers || name == "as" || name == "times";
      if (std::find(known.begin(), known.end(), name) != known.end()) {
        if (member != service::kMembers) add_word(member, each);
      } else if (&map != &field_ || verb_called(name) == nullptr) {
        context_.error_at_key(
            kNoRule, each,
            a_step() + "takes no " + name + (misplaced ? "; it takes " + joined(known) : meant(name, known)));
      }
    }
  }
  void add_word(BodyMember member, const FileField& field) {
    if (words_[member]) return context_.error_at_key(kNoRule, field, "is given twice");
    words_[member] = field;
  }

  // Of a verb that is not about a reservation: true, what it costs, or a map of words.
  void read_value(const FileField& value) {
    if (value.node->kind == YamlNode::Kind::map) return collect(value, {});
    if (!is_text(context_, value) || value.text() == "true") return;
    const bool costs = service::takes(*step_.verb, members::kCost);
    if (costs && read_units(value.text())) return add_word(members::kCost, value);
    context_.error(kNoRule, value,
                   limits::in_quotes(value.text()) + " is not true" +
                       (costs ? ", nor a whole number, the cost" : "") + ", nor a map of " + joined(words()));
  }

  // Of one that is: a name; or a value, of what was reserved last; or both, as { NAME: VALUE }.
  void read_id(const FileField& id) {
    const bool extends = service::takes(*step_.verb, members::kHold);
    const bool has_value = extends || service::takes(*step_.verb, members::kActual);
    const bool is_map = has_value && id.node->kind == YamlNode::Kind::map;
    if (!is_map && !is_text(context_, id)) return;
    const std::vector<FileField> all = members_of(id);
    const bool of_limits =
        !extends && !all.empty() && std::all_of(all.begin(), all.end(), [&](const auto& each) {
          return context_.limits.find(name_in(id, each)) != kNone;
        });
    FileField value = id;
    if (is_map && !of_limits) {
      value = named_one(id, extends ? "30s" : "1500");
      if (!value) return;
      find_hold(value, name_in(id, value));
    } else if (!is_map && (!has_value || is_hold_name(id.text()))) {
      find_hold(id, id.text());
      if (extends) named_one(id, "30s");
      return;
    }
    extends ? read_time(members::kHold, value, step_.said.hold) : read_cost(context_, value, step_.asked);
  }

  // A hold that an earlier step has named; told when there is none.
  void find_hold(const FileField& field, const std::string& name) {
    step_.hold_name = name;
    if (before_.holds.find(name) == kNone)
      context_.error_at_key(kNoRule, field,
                            "no hold is called " + limits::in_quotes(name) +
                                meant(name, before_.holds.all()) +
                                "; a step before this one names it by hold: " + name);
  }

  void name_hold(const FileField& field, const std::string& name) {
    step_.hold_name = name;
    if (!is_hold_name(name)) {
      context_.error_at_key(
          kNoRule, field,
          limits::in_quotes(name) +
              " is neither a time such as 30s nor a name, which begins with a letter and has "
              "letters, digits, _ and -");
    } else if (context_.limits.find(name) != kNone) {
      context_.error_at_key(kNoRule, field,
                            limits::in_quotes(name) + " is the name of a limit; a hold needs another");
    } else if (before_.holds.find(name) != kNone) {
      context_.error_at_key(kNoRule, field, "a second hold is called " + limits::in_quotes(name));
    } else if (step_.times != 1) {
      context_.error_at_key(
          kNoRule, field,
          "a hold that has a name is one request, and the step has " + std::to_string(step_.times));
    }
    before_.holds.add(name);
  }

  // A map of one name of a hold: its value. Of anything else there is not one, and that is told.
  FileField named_one(const FileField& map, std::string_view what) {
    const std::vector<FileField> all = members_of(map);
    if (all.size() == 1) return all[0];
    context_.error_at_key(kNoRule, map, "has to name one hold: { NAME: " + std::string(what) + " }");
    return {};
  }

  void read_word(BodyMember member, const FileField& field) {
    service::Ask& said = step_.said;
    switch (member) {
      case members::kLimit:
        if (find_name(context_, field, context_.limits, "limit") != kNone) step_.limit = field.text();
        return;
      case members::kCost:
        return read_cost(context_, field, step_.asked);
      case members::kAtLeast:
        return read_at_least(field);
      case members::kClass:
        return read_class(context_, field, step_.asked);
      case members::kMaxWait:
        return read_time(member, field, said.max_wait);
      case members::kHold:
        return read_hold(field);
      case members::kRemaining:
        read_text(context_, field, said.remaining, read_units);
        return read_form(field, Outside::Form::remaining);
      case members::kWindow:
        return read_if(context_, field, said.window, read_period);
      case members::kPause:
        read_time(member, field, said.pause.length);
        return read_form(field, Outside::Form::pause);
      case members::kAfresh:
        read_text(context_, field, said.pause.afresh, read_switch);
        if (!words_[members::kPause]) context_.error(kNoRule, field, "is said of a pause alone");
        return;
      default:
        return;  // no step has it: words_of()
    }
  }

  template <class Into>
  void read_time(BodyMember member, const FileField& field, Into& into) {
    nanoseconds time{0};
    const nanoseconds most = service::longest_of(member);
    if (!read_text(context_, field, time, read_time_span)) return;
    if (time > most)
      context_.error(kNoRule, field, limits::in_quotes(field.text()) + " is above " + core::to_text(most));
    into = time;
  }

  // Of a charge: instead of a cost.
  void read_form(const FileField& field, Outside::Form form) {
    if (words_[members::kCost] || step_.said.form != Outside::Form::cost)
      context_.error_at_key(kNoRule, field, "a charge says one of cost, remaining and pause");
    step_.said.form = form;
  }

  // `30s`, or a name, or both as { name: 30s }.
  void read_hold(const FileField& hold) {
    FileField length = hold;
    if (hold.node->kind == YamlNode::Kind::map) {
      length = named_one(hold, "30s");
      if (!length) return;
      name_hold(length, name_in(hold, length));
    } else if (!is_text(context_, hold)) {
      return;
    } else if (!read_time_span(hold.text())) {
      return name_hold(hold, hold.text());
    }
    read_time(members::kHold, length, step_.said.hold);
  }

  // As much as there is of its cost.
  void read_at_least(const FileField& least) {
    CaseRequest& asked = step_.asked;
    if (!read_text(context_, least, asked.at_least, read_units)) return;
    step_.said.verb = store::Verb::take;
    if (!asked.says_cost) {
      context_.error(kNoRule, least, "needs a cost that is one number, which is the most");
    } else if (asked.at_least < 1 || asked.at_least > asked.cost) {
      context_.error(
          kNoRule, least,
          "'" + least.text() + "' is not an integer from 1 to " + std::to_string(asked.cost) + ", the cost");
    }
  }

  Context& context_;
  const FileField& field_;
  const StepsBefore& before_;
  CaseStep& step_;
  std::array<FileField, service::kMembers> words_{};
};

void read_slots_expected(Context& context, const FileField& slots, Expected& expected) {
  if (!is_map(context, slots)) return;
  for (const FileField& each : members_of(slots)) {
    const std::string name = name_in(slots, each);
    const Index limit = limit_called(context, each, name);
    std::uint64_t open = 0;
    if (limit == kNone || !read_text(context, each, open, read_count)) continue;
    const std::vector<Window>& windows = context.file.limits[limit].windows;
    if (std::none_of(windows.begin(), windows.end(), [](const Window& one) { return one.is_slots(); }))
      context.error_at_key(kNoRule, each, limits::in_quotes(name) + " has no in_flight");
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
  if (expected.wait && step.verb->tells != Tells::reservation)
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

// Of such a step's answer, and after any step.
std::vector<FileKey> expectable(const VerbRow& verb) {
  std::vector<FileKey> keys = {FileKey{"error"}, FileKey{"in_flight"}};
  const std::string_view number = service::number_of(verb.tells);
  if (service::is_decision(verb.tells)) keys.insert(keys.end(), kDecided.begin(), kDecided.end());
  if (!number.empty()) keys.push_back({number});
  return keys;
}

void read_expect(Context& context, const FileField& field, CaseStep& step) {
  if (!is_map(context, field)) return;
  const std::vector<FileKey> keys = expectable(*step.verb);
  const Map map(context, field, keys);
  step.expected.place = field.place();
  if (const FileField error = map["error"]; error && is_text(context, error))
    step.expected.error = error.text();
  if (const FileField slots = map["in_flight"]) read_slots_expected(context, slots, step.expected);
  const Tells tells = step.verb->tells;
  if (service::is_decision(tells)) return read_answer_expected(context, field, map, step);
  const FileField number = map[service::number_of(tells)];
  service::is_time(tells) ? read_if(context, number, step.expected.time, read_time_span)
                          : read_if(context, number, step.expected.count, read_units);
}

}  // namespace

CaseStep read_step(Context& context, const FileField& field, const StepsBefore& before) {
  CaseStep step;
  step.at = before.at;
  step.place = field.place();
  if (!is_map(context, field)) return step;
  if (const FileField at = said_in(field, "at"); at && read_text(context, at, step.at, read_time_span)) {
    if (step.at < before.at)
      context.error(kNoRule, at,
                    "'" + at.text() + "' is before the step before it, at " + core::to_text(before.at));
    if (step.at > kNever - before.now)
      context.error(kNoRule, at, "'" + at.text() + "' is after the year 2261");
  }
  if (const FileField times = said_in(field, "times")) read_text(context, times, step.times, read_times);
  StepReader(context, field, before, step).read();
  if (step.verb->about != About::id) read_who(context, field, said_in(field, "as"), step.asked);
  if (const FileField expect = said_in(field, "expect")) read_expect(context, expect, step);
  return step;
}

}  // namespace weir::limits
