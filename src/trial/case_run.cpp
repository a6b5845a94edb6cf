#include "trial/case_run.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/duration.hpp"
#include "limits/explain.hpp"
#include "limits/findings.hpp"
#include "limits/set.hpp"
#include "trial/trial.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

// The attributes of a request of the file, viewed.
std::vector<Attribute> attributes_of(const CaseRequest& asked) {
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : asked.as) attributes.push_back({name, value});
  return attributes;
}

std::vector<NamedCost> costs_of(const CaseRequest& asked) {
  std::vector<NamedCost> costs;
  for (const auto& [limit, units] : asked.costs) costs.push_back({limit, units});
  return costs;
}

template <class AttributeValue>
void compare(Failure& failure, std::string_view what, const std::optional<AttributeValue>& expected,
             const AttributeValue& seen, std::string (*text)(const AttributeValue&)) {
  if (expected && *expected != seen)
    failure.mismatches.push_back({std::string(what), text(*expected), text(seen)});
}

std::string number_text(const std::uint64_t& value) { return std::to_string(value); }
std::string signed_text(const std::int64_t& value) { return std::to_string(value); }
std::string name_text(const std::string& value) { return value.empty() ? "none" : value; }

// As answers say it, to the millisecond and rounded up, or exactly.
bool same_retry(nanoseconds expected, const std::optional<nanoseconds>& seen) {
  if (!seen) return expected == Expected::kNoRetry;
  return expected == *seen || expected == std::chrono::ceil<std::chrono::milliseconds>(*seen);
}

void compare_answer(Failure& failure, const Expected& expected, std::uint64_t allowed, std::uint64_t denied,
                    const Answer& seen) {
  compare(failure, "allowed", expected.allowed, allowed, number_text);
  compare(failure, "denied", expected.denied, denied, number_text);
  compare(failure, "by", expected.by, std::string(seen.by), name_text);
  if (const auto& retry = expected.retry_after; retry && !same_retry(*retry, seen.retry_after)) {
    failure.mismatches.push_back({"retry_after",
                                  *retry == Expected::kNoRetry ? "none" : core::to_text(*retry),
                                  seen.retry_after ? core::to_text(*seen.retry_after) : "none"});
  }
  compare(failure, "remaining", expected.remaining, seen.remaining, signed_text);
}

void compare_time(Failure& failure, std::string_view what, const std::optional<nanoseconds>& expected,
                  const std::optional<nanoseconds>& seen) {
  if (expected && !same_retry(*expected, seen))
    failure.mismatches.push_back(
        {std::string(what), core::to_text(*expected), seen ? core::to_text(*seen) : "none"});
}

// Why a step about a reservation came to nothing.
std::string why_over(const CaseStep& step) {
  if (step.hold_name.empty()) return "there is no open hold to " + std::string(step.verb->name());
  const std::string hold = "hold " + limits::in_quotes(step.hold_name);
  switch (step.verb->verb) {
    case store::Verb::cancel:
      return hold + " cannot be cancelled: it was not granted, its moment has come, or it is over";
    case store::Verb::moment:
      return hold + " has no moment: it was not granted, it is over, or a pause lies over it";
    default:
      return hold + " is not open: it was not granted, or it is over";
  }
}

std::string title_of(const CaseStep& step, std::size_t number) {
  return "step " + std::to_string(number) + ", at " + core::to_text(step.at) +
         (step.times == 1 ? "" : ", " + std::to_string(step.times) + " times");
}

class Run {
 public:
  // Of at most that many different requests.
  Run(const Set& set, std::size_t requests, Coverage* coverage)
      : set_(set),
        coverage_(coverage),
        trial_(set, requests <= Trial::kFew ? Trial::kLeastBytes : Trial::kMostBytes) {}

  void step(const CaseStep& step, Time now, Failure& failure);
  void explain(const CaseExplain& one, Time now, Failure& failure);

 private:
  void describe(const CaseRequest& asked, bool costs_an_estimate = false);
  bool find(Time now, Failure& failure);
  service::Ask ask_of(const CaseStep& step);
  void ask_once(const CaseStep& step, Time now, Failure& failure);
  void ask_times(const CaseStep& step, Time now, Failure& failure);
  void compare_slots(const Expected& expected, Time now, Failure& failure);
  std::string explanation(const Trial::KeptAnswer& kept) {
    return to_text(trial_.explanation(kept), set_.file().name);
  }

  const Set& set_;
  Coverage* coverage_;
  Trial trial_;
  std::vector<Attribute> attributes_;  // of the request that is described, as are the next
  std::vector<NamedCost> costs_;
  Description described_{};
  service::Ask::Units units_;
  std::string last_id_;  // of what was reserved last
  std::map<std::string, std::string>
      ids_;  // of the holds that have a name; empty: not granted, or it is over
};

void Run::describe(const CaseRequest& asked, bool costs_an_estimate) {
  attributes_ = attributes_of(asked);
  costs_ = costs_of(asked);
  units_ = {asked.cost, asked.at_least};
  const std::uint64_t cost = asked.at_least == 0 ? asked.cost : 1;
  described_ = {attributes_, cost, asked.class_of, costs_an_estimate && !asked.says_cost, costs_};
}

bool Run::find(Time now, Failure& failure) {
  if (!trial_.find(described_, now)) {
    failure.error = trial_.error();
    return false;
  }
  if (coverage_ != nullptr) {
    coverage_->add_values(attributes_);
    coverage_->add_met(trial_.trace());
  }
  return true;
}

// What is wrong with the request was expected.
bool expects(const Expected& expected, const std::string& error) {
  return expected.error && error.find(*expected.error) != std::string::npos;
}

// It views the step, and what is described.
service::Ask Run::ask_of(const CaseStep& step) {
  service::Ask what = step.said;
  what.limit = step.limit;
  if (step.verb->about != service::About::id) {
    what.as = &described_;
    what.units = &units_;
    units_.looks = step.verb->verb == store::Verb::look;
    return what;
  }
  what.id = step.hold_name.empty() ? last_id_ : ids_[step.hold_name];
  what.actuals = costs_;
  if (step.asked.says_cost) what.actual = step.asked.cost;
  return what;
}

void Run::ask_times(const CaseStep& step, Time now, Failure& failure) {
  if (!find(now, failure)) return;
  const service::Ask what = ask_of(step);
  std::uint64_t allowed = 0;
  std::uint64_t granted = 0;
  std::uint64_t busy = 0;
  std::optional<nanoseconds> wait;
  Answer compared;
  Trial::KeptAnswer kept;
  bool any_denied = false;
  for (std::uint64_t i = 0; i < step.times; ++i) {
    if (!trial_.ask(now, what)) {
      failure.error = trial_.error();
      return;
    }
    const service::Told answer = trial_.told();
    if (coverage_ != nullptr) coverage_->add_decided(trial_.trace(), trial_.checks());
    if (answer.allowed && step.verb->tells == service::Tells::reservation) {
      wait = answer.wait;
      last_id_ = answer.id;
      if (!step.hold_name.empty()) ids_[step.hold_name] = answer.id;
    }
    allowed += answer.allowed ? 1 : 0;
    granted += answer.granted;
    busy += answer.verdict == Verdict::busy ? 1 : 0;
    const bool counts = !answer.allowed || !any_denied;
    any_denied = any_denied || !answer.allowed;
    if (!counts) continue;
    compared = answer;
    if (!answer.allowed || i + 1 == step.times) kept = trial_.keep();
  }
  compare_answer(failure, step.expected, allowed, step.times - allowed, compared);
  compare(failure, "busy", step.expected.busy, busy, number_text);
  compare(failure, "granted", step.expected.granted, granted, number_text);
  compare_time(failure, "wait", step.expected.wait, wait);
  if (!failure.mismatches.empty()) failure.explanation = explanation(kept);
}

// Of a step whose answer is not a decision.
void Run::ask_once(const CaseStep& step, Time now, Failure& failure) {
  const service::VerbRow& verb = *step.verb;
  if (verb.about == service::About::rules && !find(now, failure)) return;
  if (!trial_.ask(now, ask_of(step))) {
    failure.error = trial_.error();
    return;
  }
  const std::string_view number = service::number_of(verb.tells);
  if (number.empty()) return;
  const service::Question& answered = trial_.answered();
  const bool is_time = service::is_time(verb.tells);
  const nanoseconds time = is_time ? answered.reservation->wait : nanoseconds{0};
  const std::uint64_t count = is_time ? 0 : service::count_told(answered);
  const bool is_nothing =
      verb.tells == service::Tells::wait ? time.count() < 0 : time.count() == 0 && count == 0;
  if (is_nothing && verb.about == service::About::id) {
    failure.error = why_over(step);
    return;
  }
  compare(failure, number, step.expected.count, count, number_text);
  compare_time(failure, number, step.expected.time, time);
}

void Run::compare_slots(const Expected& expected, Time now, Failure& failure) {
  if (expected.in_flight.empty()) return;
  const auto open = trial_.in_flight(now);
  for (const auto& [limit, count] : expected.in_flight) {
    const Set::CompiledLimit& its = set_.limits()[limit];
    const auto found = open.find(its.windows.back().limit.id);
    const std::uint64_t seen = found != open.end() ? found->second : 0;
    if (seen != count)
      failure.mismatches.push_back(
          {"in_flight of " + its.said->name, std::to_string(count), std::to_string(seen)});
  }
}

void Run::step(const CaseStep& step, Time now, Failure& failure) {
  describe(step.asked, step.verb->verb != store::Verb::charge);
  service::is_decision(step.verb->tells) ? ask_times(step, now, failure) : ask_once(step, now, failure);
  const Expected& expected = step.expected;
  if (expects(expected, failure.error)) {
    failure.error.clear();
  } else if (expected.error) {
    failure.mismatches.push_back({"error", *expected.error, failure.error.empty() ? "none" : failure.error});
    failure.error.clear();
  }
  compare_slots(expected, now, failure);
}

std::string joined_or_nothing(const std::vector<std::string>& words) {
  const std::string text = joined(words);
  return text.empty() ? "nothing" : text;
}

void Run::explain(const CaseExplain& one, Time now, Failure& failure) {
  describe(one.asked, true);
  if (!find(now, failure)) return;
  trial_.ask(now, store::Verb::look);
  for (const ExpectedRates& expected : one.expected) {
    std::vector<std::string> rates;
    std::size_t next = 0;
    const bool names_lifted =
        std::any_of(expected.rates.begin(), expected.rates.end(),
                    [](const std::string& each) { return each.starts_with("unlimited"); });
    for (const TraceStep& step : trial_.trace().steps) {
      if (names_lifted && step.what == TraceStep::What::lifted && step.limit == expected.limit)
        rates.push_back(unlimited_text(set_.file().limits[step.limit].windows[step.window]));
      if (step.what != TraceStep::What::counted) continue;
      const store::Check& check = trial_.checks()[next++];
      if (step.limit == expected.limit && step.window != kNone)
        rates.push_back(core::to_text(check.limit->rule));
    }
    std::sort(rates.begin(), rates.end());
    if (rates != expected.rates) {
      failure.mismatches.push_back({set_.file().limits[expected.limit].name,
                                    joined_or_nothing(expected.rates), joined_or_nothing(rates)});
    }
  }
  if (!failure.mismatches.empty()) failure.explanation = explanation(trial_.keep());
}

CaseResult run_case(const Case& one, const Set& set, Coverage* coverage) {
  CaseResult result{&one, {}};
  const auto keep = [&result](Failure failure) {
    if (!failure.mismatches.empty() || !failure.error.empty()) result.failures.push_back(std::move(failure));
  };
  Run test(set, one.steps.size(), coverage);
  for (const CaseExplain& each : one.explains) {
    Failure failure{each.place, "explain", {}, "", ""};
    test.explain(each, one.now, failure);
    keep(std::move(failure));
  }
  std::size_t number = 0;
  for (const CaseStep& step : one.steps) {
    Failure failure{step.place, title_of(step, ++number), {}, "", ""};
    test.step(step, one.now + step.at, failure);
    keep(std::move(failure));
  }
  return result;
}

}  // namespace

CasesResult run(const Cases& cases, std::string_view pattern, Coverage* coverage) {
  const std::shared_ptr<const Set> set = compiled(cases.file);
  CasesResult result{&cases, {}};
  const std::string anywhere = "*" + std::string(pattern) + "*";
  for (const Case& one : cases.cases) {
    if (matches_pattern(anywhere, one.name)) result.results.push_back(run_case(one, *set, coverage));
  }
  return result;
}

}  // namespace weir::limits
