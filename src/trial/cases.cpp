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
#include "trial/read_step.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

constexpr std::array kTop = {FileKey{"limits"}, FileKey{"now"}, FileKey{"tests"}};
constexpr std::array kCase = {FileKey{"name"}, FileKey{"now"}, FileKey{"steps"}, FileKey{"explain"}};
constexpr std::array kExplain = {FileKey{"as"}, FileKey{"cost"}, FileKey{"class"}, FileKey{"expect"}};

// A tests file has none of a limits file's rules; docs/limits.md numbers only those.
constexpr FileRule kRule = FileRule::none;

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
    context.error(kRule, rate,
                  limits::in_quotes(text) + " names no window of " + limits::in_quotes(limit.name));
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
  KnownNames holds;
  if (steps && is_list(context, steps)) {
    for (const FileField& item : items_of(steps))
      one.steps.push_back(read_step(
          context, item, {one.steps.empty() ? nanoseconds{0} : one.steps.back().at, one.now, holds}));
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
      context.error_at_key(kRule, item, "a second test is called " + limits::in_quotes(one.name));
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
