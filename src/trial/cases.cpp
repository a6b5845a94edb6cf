#include "trial/cases.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/duration.hpp"
#include "core/rule.hpp"
#include "limits/document.hpp"
#include "limits/file_field.hpp"
#include "limits/read.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

constexpr std::array kTop = {FileKey{"limits"}, FileKey{"now"}, FileKey{"tests"}};
constexpr std::array kCase = {FileKey{"name"}, FileKey{"now"}, FileKey{"steps"}, FileKey{"explain"}};
constexpr std::array kStep = {FileKey{"at"},       FileKey{"times"},  FileKey{"as"},      FileKey{"cost"},
                              FileKey{"at_least"}, FileKey{"class"},  FileKey{"reserve"}, FileKey{"max_wait"},
                              FileKey{"hold"},     FileKey{"settle"}, FileKey{"expect"}};
constexpr std::array kExpect = {FileKey{"allowed"}, FileKey{"denied"},      FileKey{"granted"},
                                FileKey{"by"},      FileKey{"retry_after"}, FileKey{"remaining"},
                                FileKey{"wait"},    FileKey{"error"}};
constexpr std::array kExplain = {FileKey{"as"}, FileKey{"cost"}, FileKey{"class"}, FileKey{"expect"}};

constexpr std::uint64_t kMostTimes = 1'000'000;

// A tests file has none of a limits file's rules; docs/limits.md numbers only those.
constexpr FileRule kRule = FileRule::none;

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
      context.error_at_key(kRule, attribute, std::move(wrong));
    } else if (is_text(context, attribute)) {
      asked.as.emplace_back(name, attribute.text());
    }
  }
}

// A limit of the file; told when there is none of that name.
Index limit_called(Context& context, const FileField& field, const std::string& name) {
  const Index limit = context.limits.find(name);
  if (limit == kNone)
    context.error_at_key(kRule, field,
                         "no limit is called " + limits::quoted(name) + meant(name, context.limits.all()));
  return limit;
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

CaseRequest read_asked(Context& context, const FileField& field, const Map& map) {
  CaseRequest asked;
  if (const FileField as = map["as"]) {
    read_as(context, as, asked);
  } else {
    context.error_at_key(kRule, field, "missing as: the attributes of the request");
  }
  if (const FileField cost = map["cost"]) read_cost(context, cost, asked);
  if (const FileField class_of = map["class"]) {
    if (context.classes.all().empty()) {
      context.error(kRule, class_of, "the limits file has no classes");
    } else if (find_name(context, class_of, context.classes, "class") != kNone) {
      asked.class_of = class_of.text();
    }
  }
  return asked;
}

// What only a reservation has.
void read_reservation(Context& context, const Map& map, CaseStep& step) {
  if (const FileField reserve = map["reserve"]) read_text(context, reserve, step.reserves, read_switch);
  read_if(context, map["max_wait"], step.max_wait, read_time_span);
  read_if(context, map["hold"], step.hold, read_time_span);
  step.reserves = step.reserves || step.max_wait || step.hold;
}

// As much as there is of its cost.
void read_at_least(Context& context, const FileField& least, CaseStep& step) {
  CaseRequest& asked = step.asked;
  if (!read_text(context, least, asked.at_least, read_units)) return;
  if (step.reserves) {
    context.error(kRule, least, "a step that reserves has its whole cost or none of it");
  } else if (!asked.says_cost) {
    context.error(kRule, least, "needs a cost that is one number, which is the most");
  } else if (asked.at_least < 1 || asked.at_least > asked.cost) {
    context.error(
        kRule, least,
        "'" + least.text() + "' is not an integer from 1 to " + std::to_string(asked.cost) + ", the cost");
  }
}

void read_settle(Context& context, const Map& map, const FileField& settle, CaseStep& step) {
  step.settles = true;
  read_cost(context, settle, step.asked);
  for (const char* key : {"as", "times", "cost", "at_least", "class", "reserve", "max_wait", "hold"}) {
    if (const FileField other = map[key])
      context.error_at_key(kRule, other,
                           "a step that settles asks for nothing else; it settles what was "
                           "reserved last");
  }
}

void read_expect(Context& context, const FileField& field, CaseStep& step) {
  if (!is_map(context, field)) return;
  const Map map(context, field, kExpect);
  Expected& expected = step.expected;
  expected.place = field.place();
  read_if(context, map["allowed"], expected.allowed, read_count);
  read_if(context, map["denied"], expected.denied, read_count);
  read_if(context, map["granted"], expected.granted, read_units);
  if (expected.granted && step.asked.at_least == 0)
    context.error(kRule, map["granted"], "only a step with at_least says how much it was granted");
  read_if(context, map["retry_after"], expected.retry_after, read_retry);
  read_if(context, map["remaining"], expected.remaining, read_remaining);
  read_if(context, map["wait"], expected.wait, read_time_span);
  if (expected.wait && !step.reserves)
    context.error(kRule, map["wait"], "only a step that reserves waits; write reserve: true");
  if (const FileField error = map["error"]; error && is_text(context, error)) expected.error = error.text();
  if (const FileField by = map["by"]; by && find_name(context, by, context.limits, "limit") != kNone)
    expected.by = by.text();
  const std::uint64_t allowed = expected.allowed.value_or(0);
  const std::uint64_t sum = allowed + expected.denied.value_or(0);
  const bool both = expected.allowed && expected.denied;
  if (sum > step.times || (both && sum != step.times))
    context.error(kRule, field,
                  "allowed and denied add up to " + std::to_string(sum) + ", and the step has " +
                      std::to_string(step.times) + (step.times == 1 ? " request" : " requests"));
}

CaseStep read_step(Context& context, const FileField& field, nanoseconds before, Time now) {
  CaseStep step;
  step.at = before;
  step.place = field.place();
  if (!is_map(context, field)) return step;
  const Map map(context, field, kStep);
  if (const FileField at = map["at"]; at && read_text(context, at, step.at, read_time_span)) {
    if (step.at < before)
      context.error(kRule, at,
                    "'" + at.text() + "' is before the step before it, at " + core::to_text(before));
    if (step.at > kNever - now) context.error(kRule, at, "'" + at.text() + "' is after the year 2261");
  }
  if (const FileField times = map["times"]) read_text(context, times, step.times, read_times);
  if (const FileField settle = map["settle"]) {
    read_settle(context, map, settle, step);
  } else {
    step.asked = read_asked(context, field, map);
    read_reservation(context, map, step);
    if (const FileField least = map["at_least"]) read_at_least(context, least, step);
  }
  if (const FileField expect = map["expect"]) read_expect(context, expect, step);
  return step;
}

// A rate, or unlimited for one window of the limit or all.
void read_expected_rate(Context& context, const FileField& rate, const NamedLimit& limit,
                        std::vector<std::string>& rates) {
  constexpr std::string_view kUnlimited = "unlimited";
  const std::string_view text = rate.text();
  if (!text.starts_with(kUnlimited)) {
    const auto rule = core::Rule::parse(text);
    return rule ? rates.push_back(core::to_text(*rule)) : context.error(kRule, rate, rule.error());
  }
  const std::string_view period = text.substr(kUnlimited.size());
  const auto named = period.starts_with('/') ? core::parse_period(period.substr(1)) : std::nullopt;
  const std::size_t before = rates.size();
  for (const Window& window : limit.windows) {
    if (period.empty() || named == window.period()) rates.push_back(unlimited_text(window));
  }
  if (rates.size() == before)
    context.error(kRule, rate, limits::quoted(text) + " names no window of " + limits::quoted(limit.name));
}

CaseExplain read_explain(Context& context, const FileField& field) {
  CaseExplain explain;
  explain.place = field.place();
  if (!is_map(context, field)) return explain;
  const Map map(context, field, kExplain);
  explain.asked = read_asked(context, field, map);
  const FileField expect = map["expect"];
  if (!expect) context.error_at_key(kRule, field, "missing expect: for each limit its rates");
  if (!expect || !is_map(context, expect)) return explain;
  for (const FileField& limit : members_of(expect)) {
    const std::string name = limit.path.substr(expect.path.size() + 1);
    ExpectedRates rates{limit_called(context, limit, name), {}, limit.place()};
    for (const FileField& rate : texts_of(context, limit)) {
      if (rates.limit != kNone)
        read_expected_rate(context, rate, context.file.limits[rates.limit], rates.rates);
    }
    std::sort(rates.rates.begin(), rates.rates.end());
    explain.expected.push_back(std::move(rates));
  }
  return explain;
}

// One map, or a list of them.
void read_explains(Context& context, const FileField& field, Case& one) {
  if (field.node->kind != YamlNode::Kind::list) {
    one.explains.push_back(read_explain(context, field));
    return;
  }
  for (const FileField& item : items_of(field)) one.explains.push_back(read_explain(context, item));
}

Case read_case(Context& context, const FileField& field, const Time* now) {
  Case one;
  one.place = field.place();
  if (!is_map(context, field)) return one;
  const Map map(context, field, kCase);
  if (const FileField name = map["name"]) {
    if (is_text(context, name)) one.name = name.text();
  } else {
    context.error_at_key(kRule, field, "missing name");
  }
  if (now != nullptr) one.now = *now;
  if (const FileField own = map["now"]) {
    read_text(context, own, one.now, read_time);
  } else if (now == nullptr) {
    context.error_at_key(kRule, field,
                         "missing now: when the test begins, such as 2026-12-01T12:00:00Z; here or for "
                         "all tests of the file");
  }
  const FileField steps = map["steps"];
  const FileField explain = map["explain"];
  if (!steps && !explain) context.error_at_key(kRule, field, "tests nothing; write steps or explain");
  if (steps && is_list(context, steps)) {
    for (const FileField& item : items_of(steps))
      one.steps.push_back(
          read_step(context, item, one.steps.empty() ? nanoseconds{0} : one.steps.back().at, one.now));
  }
  if (explain) read_explains(context, explain, one);
  return one;
}

void read_tests(Context& context, const FileField& tests, const Time* now, Cases& cases) {
  if (!is_list(context, tests)) return;
  KnownNames names;
  for (const FileField& item : items_of(tests)) {
    Case one = read_case(context, item, now);
    if (!one.name.empty() && names.find(one.name) != kNone)
      context.error_at_key(kRule, item, "a second test is called " + limits::quoted(one.name));
    names.add(one.name);
    cases.cases.push_back(std::move(one));
  }
  if (cases.cases.empty()) context.error(kRule, tests, "is empty");
}

// The limits file that the tests are of. Null and told when there is none, or when it has errors.
std::shared_ptr<const File> read_limits(Context& context, const Map& map, const FileField& whole,
                                        const ReadOptions& options, std::vector<Finding>& theirs) {
  const FileField limits = map["limits"];
  if (!limits) {
    context.error_at_key(kRule, whole,
                         map["tests"]
                             ? "missing limits: the file that the tests are of"
                             : "missing limits and tests; a file of tests has limits, now and tests");
    return nullptr;
  }
  if (!is_text(context, limits)) return nullptr;
  const bool beside = !limits.text().starts_with('/') && !options.folder.empty();
  ReadOptions reading = options;
  reading.name = "";
  reading.folder = "";
  ReadResult read =
      read_file(beside ? options.folder + "/" + limits.text() : limits.text(), std::move(reading));
  if (read.file) return read.file;
  std::erase_if(read.findings, [](const Finding& finding) { return finding.severity != Severity::error; });
  theirs = std::move(read.findings);
  return nullptr;
}

}  // namespace

std::string unlimited_text(const Window& window) {
  std::string text = "unlimited/";
  core::append_window(window.rule, text);
  return text;
}

CasesReading read_cases(std::string_view text, const ReadOptions& options) {
  Findings findings(options.name);
  auto cases = std::make_shared<Cases>();
  cases->name = options.name;
  std::vector<Finding> theirs;
  const YamlNode node = read_document(text, findings);
  File none;  // but for the limits that the tests are of
  Context context{options, none, findings};
  const FileField whole{&node, "", node.place};
  if (node.kind != YamlNode::Kind::refused && is_map(context, whole)) {
    const Map map(context, whole, kTop);
    Time now{};
    const FileField said = map["now"];
    if (said) read_text(context, said, now, read_time);
    ReadOptions at = options;
    at.now = now;
    cases->file = read_limits(context, map, whole, at, theirs);
    if (cases->file) {
      none.limits = cases->file->limits;
      for (const NamedLimit& limit : cases->file->limits) context.limits.add(limit.name);
      for (const std::string& name : cases->file->classes) context.classes.add(name);
      if (const FileField tests = map["tests"]) {
        // A time that is wrong is told once, not once for each test.
        read_tests(context, tests, said ? &now : nullptr, *cases);
      } else {
        context.error_at_key(kRule, whole, "missing tests");
      }
    }
  }
  CasesReading reading{nullptr, findings.take()};
  reading.findings.insert(reading.findings.end(), theirs.begin(), theirs.end());
  if (!has_errors(reading.findings)) reading.cases = std::move(cases);
  return reading;
}

CasesReading read_cases_file(const std::string& path) {
  ReadOptions options;
  options.name = path == "-" ? "<stdin>" : path;
  constexpr std::size_t kMost = Bounds{}.bytes;
  auto text = read_named(path, kMost, options.open);
  if (!text)
    return {nullptr, {{Severity::error, kRule, options.name, {}, "", "cannot read it: " + text.error()}}};
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) options.folder = path.substr(0, slash == 0 ? 1 : slash);
  return read_cases(*text, options);
}

}  // namespace weir::limits
