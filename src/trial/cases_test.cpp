#include "trial/cases.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::limits {
namespace {

constexpr const char* kOneLimit =
    "version: 1\n"
    "classes: [default, bulk]\n"
    "limits:\n"
    "  tenant: { by: [tenant], rate: 100/s burst 200 }\n"
    "  user: { by: [tenant, user], rate: [20/s burst 40, 1000/day] }\n";

ReadOptions options() {
  ReadOptions made;
  made.name = "t.yaml";
  made.folder = "some/where";
  made.open = [](const std::string& path, std::size_t) -> tl::expected<std::string, std::string> {
    if (path == "some/where/l.yaml") return kOneLimit;
    if (path == "some/where/bad.yaml") return "version: 2\n";
    return tl::unexpected(std::string("No such file or directory"));
  };
  return made;
}

std::string wrong(const std::string& text) {
  const CasesReading reading = read_cases(text, options());
  EXPECT_EQ(reading.cases == nullptr, has_errors(reading.findings));
  std::string all;
  for (const Finding& finding : reading.findings) all += to_text(finding) + "\n";
  return all;
}

// One test of the file, after the usual beginning, which has three lines.
std::string wrong_in_test(const std::string& test) {
  return wrong("limits: l.yaml\nnow: 2026-11-21T12:00:00Z\ntests:\n  - " + test + "\n");
}

TEST(Cases, a_file_of_tests_is_read) {
  const CasesReading reading = read_cases(
      "limits: l.yaml\n"
      "now: 2026-11-21\n"
      "tests:\n"
      "  - name: a user bursts 40\n"
      "    steps:\n"
      "      - { as: { tenant: t, user: \"\" }, times: 41, expect: { allowed: 40, denied: 1, by: user, "
      "retry_after: 50ms } }\n"
      "      - { at: 1s, as: {}, cost: 7, class: bulk, expect: { remaining: -1, retry_after: none } }\n"
      "      - { as: { tenant: t } }\n"
      "  - name: what is in force\n"
      "    now: 2026-12-01T00:00:01Z\n"
      "    explain: { as: { tenant: acme }, expect: { user: [1000/1d, 20/1s burst 40], tenant: [] } }\n",
      options());
  ASSERT_TRUE(reading.cases);
  const Cases& cases = *reading.cases;
  EXPECT_EQ(cases.file->name, "some/where/l.yaml");
  ASSERT_EQ(cases.cases.size(), 2U);
  const std::vector<CaseStep>& steps = cases.cases[0].steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].times, 41U);
  EXPECT_EQ(steps[0].place.line, 6U);
  EXPECT_EQ(steps[0].asked.as[1], (std::pair<std::string, std::string>("user", "")));
  EXPECT_EQ(steps[0].expected.retry_after, std::chrono::milliseconds{50});
  EXPECT_EQ(steps[1].asked.class_of, "bulk");
  EXPECT_EQ(steps[1].asked.cost, 7U);
  EXPECT_EQ(steps[1].expected.retry_after, Expected::kNoRetry);
  EXPECT_EQ(steps[2].at, std::chrono::seconds{1}) << "a step without a moment is at that of the one before";
  const CaseExplain& explain = cases.cases[1].explains.at(0);
  EXPECT_EQ(explain.expected[0].rates, (std::vector<std::string>{"1000/d", "20/s burst 40"}));
  EXPECT_EQ(explain.expected[1].rates, (std::vector<std::string>{}));
  EXPECT_EQ((cases.cases[1].now - cases.cases[0].now), std::chrono::hours{240} + std::chrono::seconds{1});
}

TEST(Cases, everything_that_is_wrong_is_told_with_its_place) {
  EXPECT_EQ(wrong("version: 1\n"),
            "t.yaml:1:1: version: unknown; known: limits, now, tests\n"
            "t.yaml:1:1: missing limits and tests; a file of tests has limits, now and tests\n");
  EXPECT_EQ(
      wrong("limits: l.yaml\nnow: yesterday\n"),
      "t.yaml:1:1: missing tests\n"
      "t.yaml:2:6: now: 'yesterday' is not a date or a time of RFC 3339; write 2026-12-01, which is its "
      "midnight in UTC, or 2026-12-01T12:00:00Z\n");
  EXPECT_EQ(wrong("limits: l.yaml\ntests: []\n"), "t.yaml:2:8: tests: is empty\n");
  EXPECT_EQ(wrong("limits: gone.yaml\ntests: []\n"),
            "some/where/gone.yaml: cannot read it: No such file or directory\n");
  EXPECT_EQ(wrong("limits: l.yaml\ntests: [{ name: x, steps: [] }]\n"),
            "t.yaml:2:9: tests[0]: missing now: when the test begins, such as 2026-12-01T12:00:00Z; here or "
            "for all "
            "tests of the file\n");
}

TEST(Cases, what_is_wrong_with_the_limits_is_told_as_lint_tells_it) {
  const std::string all = wrong("limits: bad.yaml\ntests: []\n");
  EXPECT_EQ(all.substr(0, all.find('\n')),
            "some/where/bad.yaml:1:1: version: '2' is not a version; write version: 1");
}

struct WrongTest {
  const char* test;
  const char* wrong;
};

TEST(Cases, every_field_of_a_test_says_what_is_allowed) {
  const WrongTest rows[] = {
      {"{ name: x }", "t.yaml:4:5: tests[0]: tests nothing; write steps or explain\n"},
      {"{ steps: [] }", "t.yaml:4:5: tests[0]: missing name\n"},
      {"{ name: x, step: [] }",
       "t.yaml:4:5: tests[0]: tests nothing; write steps or explain\n"
       "t.yaml:4:16: tests[0].step: unknown; did you mean steps?\n"},
      {"{ name: x, steps: [{ at: 1s }] }",
       "t.yaml:4:24: tests[0].steps[0]: missing as: the attributes of the request\n"},
      {"{ name: x, steps: [{ as: { User: x } }] }",
       "t.yaml:4:32: tests[0].steps[0].as.User: 'User' is not a name; it begins with a-z and has at most 64 "
       "of a-z, "
       "0-9, _, . and -\n"},
      {"{ name: x, steps: [{ as: {}, times: 0 }] }",
       "t.yaml:4:41: tests[0].steps[0].times: '0' is not a whole number from 1 to 1000000\n"},
      {"{ name: x, steps: [{ as: {}, at: 2s }, { as: {}, at: 1s }] }",
       "t.yaml:4:58: tests[0].steps[1].at: '1s' is before the step before it, at 2s\n"},
      {"{ name: x, steps: [{ as: {}, at: 290y }] }",
       "t.yaml:4:38: tests[0].steps[0].at: '290y' is not a time such as 250ms, 10s, 1.5h or 1d\n"},
      {"{ name: x, steps: [{ as: {}, at: 100000d }] }",
       "t.yaml:4:38: tests[0].steps[0].at: '100000d' is after the year 2261\n"},
      {"{ name: x, steps: [{ as: {}, class: bluk }] }",
       "t.yaml:4:41: tests[0].steps[0].class: no class is called 'bluk'; did you mean bulk?\n"},
      {"{ name: x, steps: [{ as: {}, expect: { by: usr } }] }",
       "t.yaml:4:48: tests[0].steps[0].expect.by: no limit is called 'usr'; did you mean user?\n"},
      {"{ name: x, steps: [{ as: {}, times: 3, expect: { allowed: 2, denied: 2 } }] }",
       "t.yaml:4:52: tests[0].steps[0].expect: allowed and denied add up to 4, and the step has 3 "
       "requests\n"},
      {"{ name: x, steps: [{ as: {}, expect: { allowed: 2 } }] }",
       "t.yaml:4:42: tests[0].steps[0].expect: allowed and denied add up to 2, and the step has 1 request\n"},
      {"{ name: x, steps: [{ as: {}, expect: { retry_after: soon } }] }",
       "t.yaml:4:57: tests[0].steps[0].expect.retry_after: 'soon' is not a time such as 250ms, 10s, 1.5h or "
       "1d\n"},
      {"{ name: x, explain: { as: {} } }",
       "t.yaml:4:16: tests[0].explain: missing expect: for each limit its rates\n"},
      {"{ name: x, explain: { as: {}, expect: { tennant: 1/s } } }",
       "t.yaml:4:45: tests[0].explain.expect.tennant: no limit is called 'tennant'; did you mean tenant?\n"},
      {"{ name: x, explain: { as: {}, expect: { tenant: [unlimited/week] } } }",
       "t.yaml:4:54: tests[0].explain.expect.tenant[0]: 'unlimited/week' names no window of 'tenant'\n"},
      {"{ name: x, steps: [{ as: {}, cost: { usr: 1 } }] }",
       "t.yaml:4:42: tests[0].steps[0].cost.usr: no limit is called 'usr'; did you mean user?\n"},
      {"{ name: x, steps: [{ as: {}, expect: { wait: 1s } }] }",
       "t.yaml:4:50: tests[0].steps[0].expect.wait: only a step that reserves waits; write reserve: true\n"},
      {"{ name: x, steps: [{ as: {}, settle: 1 }] }",
       "t.yaml:4:26: tests[0].steps[0].as: a step with settle takes no as; it takes at, expect\n"},
      {"{ name: x, steps: [{ as: {}, times: 2, refund: 1 }] }",
       "t.yaml:4:34: tests[0].steps[0].times: a step with refund takes no times; it takes at, expect, as, "
       "limit, "
       "cost\n"},
      {"{ name: x, steps: [{ as: {}, tmies: 2 }] }",
       "t.yaml:4:34: tests[0].steps[0].tmies: a step with check takes no tmies; did you mean times?\n"},
      {"{ name: x, steps: [{ as: {}, refnud: 1 }] }",
       "t.yaml:4:34: tests[0].steps[0].refnud: a step with check takes no refnud; did you mean refund?\n"},
      {"{ name: x, steps: [{ as: {}, refund: soon }] }",
       "t.yaml:4:42: tests[0].steps[0].refund: 'soon' is not true, nor a whole number, the cost, nor a map "
       "of "
       "limit, cost\n"},
      {"{ name: x, steps: [{ as: {}, refund: [] }] }",
       "t.yaml:4:42: tests[0].steps[0].refund: a list is not a text\n"},
      {"{ name: x, steps: [{ as: {}, refund: { cots: 1 } }] }",
       "t.yaml:4:44: tests[0].steps[0].refund.cots: a step with refund takes no cots; did you mean cost?\n"},
      {"{ name: x, steps: [{ as: {}, refund: 1, cost: 1 }] }",
       "t.yaml:4:45: tests[0].steps[0].cost: is given twice\n"},
      {"{ name: x, steps: [{ refund: 1 }] }",
       "t.yaml:4:24: tests[0].steps[0]: missing as: the attributes of the request\n"},
      {"{ name: x, steps: [{ as: {}, reset: { limit: usr } }] }",
       "t.yaml:4:50: tests[0].steps[0].reset.limit: no limit is called 'usr'; did you mean user?\n"},
      {"{ name: x, steps: [{ as: {}, reset: 1 }] }",
       "t.yaml:4:41: tests[0].steps[0].reset: '1' is not true, nor a map of limit\n"},
      {"{ name: x, steps: [{ as: {}, reset: true, expect: { given_back: 1 } }] }",
       "t.yaml:4:57: tests[0].steps[0].expect.given_back: unknown; known: error, in_flight, reset\n"},
      {"{ name: x, steps: [{ as: {}, acquire: true }] }",
       "t.yaml:4:34: tests[0].steps[0].acquire: is not a step: nobody waits while a test's time stands "
       "still; "
       "reserve decides and charges alike\n"},
      {"{ name: x, steps: [{ as: {}, hold: 25h }] }",
       "t.yaml:4:40: tests[0].steps[0].hold: '25h' is above 1d\n"},
      {"{ name: x, steps: [{ as: {}, cost: 2, at_least: 1, reserve: true }] }",
       "t.yaml:4:43: tests[0].steps[0].at_least: a step with reserve takes no at_least; it takes at, expect, "
       "times, as, cost, class, max_wait, hold\n"},
      {"{ name: x, steps: [{ as: {}, hold: one }, { extend: one }] }",
       "t.yaml:4:49: tests[0].steps[1].extend: has to name one hold: { NAME: 30s }\n"},
      {"{ name: x, steps: [{ as: {}, hold: 9s }, { settle: 1, cancel: x }] }",
       "t.yaml:4:59: tests[0].steps[1].cancel: a step with settle asks for nothing else\n"},
      {"{ name: x, steps: [{ settle: 1, expect: { allowed: 1 } }] }",
       "t.yaml:4:47: tests[0].steps[0].expect.allowed: unknown; known: error, in_flight, wait\n"},
      {"{ name: x, steps: [{ as: {}, hold: one }, { settle: { oen: 1 } }] }",
       "t.yaml:4:59: tests[0].steps[1].settle.oen: no hold is called 'oen'; did you mean one?; a step before "
       "this one names it by hold: oen\n"},
      {"{ name: x, steps: [{ as: {}, hold: one }, { as: {}, hold: one }] }",
       "t.yaml:4:57: tests[0].steps[1].hold: a second hold is called 'one'\n"},
      {"{ name: x, steps: [{ as: {}, hold: user }] }",
       "t.yaml:4:34: tests[0].steps[0].hold: 'user' is the name of a limit; a hold needs another\n"},
      {"{ name: x, steps: [{ as: {}, hold: 9 s }] }",
       "t.yaml:4:34: tests[0].steps[0].hold: '9 s' is neither a time such as 30s nor a name, which begins "
       "with "
       "a letter and has letters, digits, _ and -\n"},
      {"{ name: x, steps: [{ as: {}, times: 2, hold: one }] }",
       "t.yaml:4:44: tests[0].steps[0].hold: a hold that has a name is one request, and the step has 2\n"},
      {"{ name: x, steps: [{ as: {}, hold: { a: 1s, b: 1s } }] }",
       "t.yaml:4:34: tests[0].steps[0].hold: has to name one hold: { NAME: 30s }\n"},
      {"{ name: x, steps: [{ cancel: it }] }",
       "t.yaml:4:26: tests[0].steps[0].cancel: no hold is called 'it'; a step before this one names it by "
       "hold: "
       "it\n"},
      {"{ name: x, steps: [{ as: {}, charge: { cost: 1, pause: 1s } }] }",
       "t.yaml:4:53: tests[0].steps[0].charge.pause: a charge says one of cost, remaining and pause\n"},
      {"{ name: x, steps: [{ as: {}, charge: { cost: 1, afresh: true } }] }",
       "t.yaml:4:61: tests[0].steps[0].charge.afresh: is said of a pause alone\n"},
      {"{ name: x, steps: [{ as: {}, expect: { in_flight: { user: 1 } } }] }",
       "t.yaml:4:57: tests[0].steps[0].expect.in_flight.user: 'user' has no in_flight\n"},
      {"{ name: x, steps: [{ as: {}, times: 3, expect: { allowed: 2, busy: 2 } }] }",
       "t.yaml:4:72: tests[0].steps[0].expect.busy: those that are busy are among the denied, and there are "
       "fewer\n"},
      {"{ name: x, steps: [] }\n  - { name: x, steps: [] }",
       "t.yaml:5:5: tests[1]: a second test is called 'x'\n"},
  };
  for (const WrongTest& row : rows) EXPECT_EQ(wrong_in_test(row.test), row.wrong) << row.test;
}

}  // namespace
}  // namespace weir::limits
