#include "trial/step_verbs.hpp"

#include <gtest/gtest.h>

#include "trial/case_report.hpp"
#include "trial/case_run.hpp"

namespace weir::inline v0_1::limits {
namespace {

using service::VerbRow;

constexpr const char* kSteppedLimit =
    "version: 1\n"
    "classes: [default, bulk]\n"
    "limits: { calls: { by: [a], rate: 1/s burst 9, max_wait: 1min, hold: { ttl: 60s }, refunds: true } }\n";

CasesReading reading_of(const std::string& steps) {
  ReadOptions options;
  options.name = "t.yaml";
  options.open = [](const std::string&, std::size_t) -> tl::expected<std::string, std::string> {
    return kSteppedLimit;
  };
  return read_cases("limits: l.yaml\nnow: 2026-11-21\ntests: [{ name: x, steps: [" + steps + "] }]\n",
                    options);
}

// What is wrong with the file, and what fails.
std::string told_of_steps(const std::string& steps) {
  const CasesReading reading = reading_of(steps);
  std::string all;
  for (const Finding& finding : reading.findings) all += to_text(finding) + "\n";
  if (!reading.cases) return all;
  CaseReport report;
  report.files.push_back(run(*reading.cases, "", nullptr));
  return report.failed() == 0 ? all : all + text_of(report, false);
}

// A step by the row alone, after those that it needs: a reservation that waits for its moment.
std::string step_of(const VerbRow& verb, const std::string& more) {
  std::string step = "{ " + std::string(verb.name());
  if (verb.about != service::About::id) return step + ": true, as: { a: x }" + more + " }";
  step += takes(verb, service::members::kHold) ? ": { one: 30s }" : ": one";
  if (takes(verb, service::members::kActual)) step += ", at: 1s";  // its moment has come
  return "{ as: { a: x }, cost: 9 }, { as: { a: x }, hold: one, max_wait: 9s }, " + step + more + " }";
}

TEST(StepVerbs, each_verb_is_a_step_or_says_why_not) {
  for (const VerbRow& verb : service::kVerbs) {
    const std::string why(why_no_step(verb));
    const std::string told = told_of_steps(step_of(verb, ""));
    EXPECT_EQ(told, why.empty() ? ""
                                : "t.yaml:3:30: tests[0].steps[0]." + std::string(verb.name()) +
                                      ": is not a step: " + why + "\n")
        << verb.name();
  }
}

TEST(StepVerbs, the_answer_of_each_is_compared) {
  for (const VerbRow& verb : service::kVerbs) {
    if (!why_no_step(verb).empty() || verb.tells == service::Tells::charged) continue;
    const std::string number(service::number_of(verb.tells));
    const std::string expected =
        number.empty() ? "denied: 1" : number + (is_time(verb.tells) ? ": 77d" : ": 77");
    const std::string told = told_of_steps(step_of(verb, ", expect: { " + expected + " }"));
    EXPECT_NE(told.find("1 failed"), told.npos) << verb.name() << ": " << told;
    EXPECT_NE(told.find(number.empty() ? "denied" : "77"), told.npos) << verb.name() << ": " << told;
  }
}

// A list is the value of none.
TEST(StepVerbs, each_word_of_a_row_is_read_and_no_other) {
  for (const VerbRow& verb : service::kVerbs) {
    if (!why_no_step(verb).empty()) continue;
    std::string words;
    for (const std::string_view each : service::kMemberNames)
      if (verb_called(each) == nullptr) words += ", " + std::string(each) + ": []";
    const std::string told = told_of_steps(step_of(verb, words));
    for (std::size_t i = 0; i < service::kMembers; ++i) {
      const std::string word(service::kMemberNames[i]);
      const bool is_word = (words_of(verb) & service::set_of(i)) != 0;
      EXPECT_TRUE(verb_called(word) != nullptr ||
                  told.find("." + word + ": a " + (is_word ? "list is not a text" : "step with")) !=
                      told.npos)
          << word << ": " << told;
    }
  }
}

}  // namespace
}  // namespace weir::limits
