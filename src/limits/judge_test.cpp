// What is wrong between overrides, against every combination of them that a request can match.
#include "limits/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/chance_test.hpp"
#include "limits/reading_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

// The numbers of a limit or an override; empty: not named.
struct Numbers {
  std::optional<std::int64_t> burst;
  bool lifted = false;
  std::optional<std::int64_t> cost;
  std::optional<int> leave;    // percent, of the least important class
  std::optional<int> reserve;  // percent
};

std::string as_yaml(const Numbers& numbers) {
  std::string text;
  if (numbers.lifted) text += ", rate: unlimited";
  if (numbers.burst) text += ", rate: 1/s burst " + std::to_string(numbers.burst.value_or(0));
  if (numbers.cost) text += ", cost: " + std::to_string(numbers.cost.value_or(0));
  if (numbers.leave) text += ", leave: { bulk: " + std::to_string(numbers.leave.value_or(0)) + "% }";
  if (numbers.reserve) text += ", reserve: " + std::to_string(numbers.reserve.value_or(0)) + "%";
  return text;
}

Numbers some(core::Chance& chance, bool whole) {
  Numbers numbers;
  const auto named = [&] { return whole || chance.up_to(2) == 0; };
  if (named()) numbers.burst = 1 + chance.up_to(9);
  if (!whole && !numbers.burst && chance.up_to(5) == 0) numbers.lifted = true;
  if (named()) numbers.cost = 1 + chance.up_to(9);
  if (named()) numbers.leave = static_cast<int>(chance.up_to(9)) * 10;
  if (named()) numbers.reserve = static_cast<int>(chance.up_to(9)) * 10;
  return numbers;
}

void apply(const Numbers& change, Numbers& to) {
  if (change.burst || change.lifted) {
    to.burst = change.burst;
    to.lifted = change.lifted;
  }
  if (change.cost) to.cost = change.cost;
  if (change.leave) to.leave = change.leave;
  if (change.reserve) to.reserve = change.reserve;
}

bool told(const ReadResult& reading, int rule) {
  return std::any_of(reading.findings.begin(), reading.findings.end(), [rule](const Finding& finding) {
    return number_of(finding.rule) == rule && finding.severity == Severity::error;
  });
}

TEST(Judge, agrees_with_every_combination_of_overrides) {
  core::Chance chance;
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Numbers own = some(chance, true);
    std::vector<Numbers> changes(static_cast<std::size_t>(chance.up_to(5)));
    std::string file =
        "version: 1\nclasses: [default, bulk]\nlimits:\n  a: { by: [t]" + as_yaml(own) + ", overrides: [";
    for (std::size_t i = 0; i < changes.size(); ++i) {
      changes[i] = some(chance, false);
      // Attributes of their own, so that any of them can match together.
      file += "{ when: { a" + std::to_string(i) + ": x }" + as_yaml(changes[i]) + " }, ";
    }
    file += "] }\n";
    bool cost_wrong = false;
    bool share_wrong = false;
    for (std::size_t matching = 0; matching < std::size_t{1} << changes.size(); ++matching) {
      Numbers has = own;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if ((matching >> i & 1) != 0) apply(changes[i], has);
      }
      cost_wrong = cost_wrong || (!has.lifted && has.cost > has.burst);
      share_wrong = share_wrong || has.leave.value_or(0) + has.reserve.value_or(0) >= 100;
    }
    const ReadResult reading = read(file, test_options());
    EXPECT_EQ(told(reading, 21), cost_wrong) << file << shown(reading.findings);
    EXPECT_EQ(told(reading, 8), share_wrong) << file << shown(reading.findings);
    refused += cost_wrong || share_wrong ? 1 : 0;
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 1990);
}

TEST(SameWhen, is_the_same_for_what_says_the_same_and_for_nothing_else) {
  const auto when = [](const std::string& text) {
    const ReadResult reading =
        read("version: 1\nlists: { l: [x] }\nroutes: [{ when: " + text + ", limits: [] }]\n", test_options());
    return reading.file == nullptr ? "refused: " + shown(reading.findings)
                                   : same_when(reading.file->routes[0].when);
  };
  EXPECT_EQ(when("{ a: [x, y], b: z }"), when("{ b: [z], a: [y, x, x] }"));
  EXPECT_NE(when("{ a: x }"), when("{ a: [x, y] }"));
  EXPECT_NE(when("{ a: \"@l\" }"), when("{ a: l }"));
  EXPECT_NE(when("{ a: x }"), when("{ b: x }"));
  EXPECT_NE(when("{ a: [\"x=1:y\"] }"), when("{ a: [x, y] }"));
  EXPECT_EQ(same_when({}), "");
}

}  // namespace
}  // namespace weir::limits
