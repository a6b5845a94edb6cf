#include "trial/case_run.hpp"

#include <gtest/gtest.h>

#include "store/table.hpp"
#include "trial/case_report.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr const char* kLimits =
    "version: 1\n"
    "lists: { partners: [acme, \"big-*\"] }\n"
    "limits:\n"
    "  ip: { by: [ip], rate: 50/s burst 100, deny: { ip: 192.0.2.0/24 } }\n"
    "  tenant:\n"
    "    by: [tenant]\n"
    "    rate: [3/s burst 3, 100/day]\n"
    "    overrides:\n"
    "      - { when: { tenant: \"@partners\" }, until: 2026-12-01, rate: [400/s burst 800, unlimited/day] }\n"
    "  tried: { by: [tenant], rate: 1/min, shadow: until 2026-12-24 }\n"
    "  must: { by: [tenant, user], rate: 1/s, required: true }\n"
    "routes:\n"
    "  - { when: { path: /must }, limits: [must] }\n"
    "  - { limits: [ip, tenant, tried] }\n";

constexpr const char* kLogs =
    "version: 1\n"
    "limits:\n"
    "  user: { by: [user], rate: [2/s algorithm=sliding_window_log, 4/min burst 4] }\n"
    "  tried: { by: [user], rate: 1/h algorithm=sliding_window_log, shadow: true }\n"
    "routes: [{ limits: [user, tried] }]\n";

constexpr const char* kTokens =
    "version: 1\n"
    "limits:\n"
    "  tokens: { by: [model], rate: 1/min burst 1000, hold: { estimate: 400, ttl: 60s } }\n";

std::shared_ptr<const Cases> cases_of(const std::string& tests, const char* limits = kLimits) {
  ReadOptions options;
  options.name = "t.yaml";
  options.open = [limits](const std::string&, std::size_t) -> tl::expected<std::string, std::string> {
    return limits;
  };
  CasesReading reading = read_cases("limits: l.yaml\nnow: 2026-11-21T12:00:00Z\ntests:\n" + tests, options);
  for (const Finding& finding : reading.findings) ADD_FAILURE() << to_text(finding);
  return reading.cases;
}

CaseReport report_of(const std::string& tests, const std::string& pattern = "") {
  static std::vector<std::shared_ptr<const Cases>> kept;  // reports point to them
  kept.push_back(cases_of(tests));
  CaseReport report;
  report.files.push_back(run(*kept.back(), pattern, nullptr));
  return report;
}

// One step or explain of a test, and what the report says below the test's name.
std::string said(const std::string& step) {
  const std::string text = text_of(report_of("  - { name: x, " + step + " }\n"), false);
  const std::size_t from = text.find('\n') + 1;
  return text.starts_with("t.yaml: 1 test, 0 failed") ? "" : text.substr(from, text.rfind("t.yaml:") - from);
}

TEST(CaseRun, a_step_that_takes_what_there_is_says_how_much_it_was_granted) {
  EXPECT_EQ(said("steps: [{ as: { tenant: t, ip: 198.51.100.1 }, times: 2, cost: 5, at_least: 1, "
                 "expect: { allowed: 1, denied: 1, granted: 3, by: tenant } }]"),
            "");
  EXPECT_EQ(said("steps: [{ as: { ip: 192.0.2.1 }, cost: 5, at_least: 1, expect: { granted: 0, by: ip } }]"),
            "");
  const std::string failed =
      said("steps: [{ as: { tenant: t }, cost: 5, at_least: 2, expect: { granted: 4 } }]");
  EXPECT_NE(failed.find("granted  4         3\n"), failed.npos) << failed;
}

TEST(CaseRun, a_step_that_says_no_cost_takes_the_estimate_of_a_hold) {
  const auto cases = cases_of(
      "  - { name: x, steps: [{ times: 3, as: { model: m }, expect: { allowed: 2, denied: 1 } }] }\n"
      "  - { name: y, steps: [{ cost: 1, as: { model: m }, expect: { remaining: 999 } }] }\n",
      kTokens);
  CaseReport report;
  report.files.push_back(run(*cases, "", nullptr));
  EXPECT_EQ(text_of(report, false), "t.yaml: 2 tests, 0 failed\n");
}

TEST(CaseRun, a_test_passes_by_what_the_limits_do) {
  EXPECT_EQ(
      said("steps: [{ times: 101, as: { ip: \"2001:db8::1\" }, expect: { allowed: 100, denied: 1, by: ip, "
           "retry_after: 20ms, remaining: 0 } }]"),
      "");
  EXPECT_EQ(said("steps: [{ as: { ip: 192.0.2.9 }, expect: { denied: 1, by: ip, remaining: 0, retry_after: "
                 "none } }]"),
            "");
  EXPECT_EQ(said("steps: [{ as: {}, expect: { allowed: 1, remaining: -1, retry_after: none } }]"), "");
  EXPECT_EQ(
      said("steps: [{ as: { tenant: t }, cost: 4, expect: { denied: 1, by: tenant, retry_after: none } }]"),
      "");
}

TEST(CaseRun, time_passes_from_step_to_step_and_nowhere_else) {
  EXPECT_EQ(said("steps: [{ times: 4, as: { tenant: t }, expect: { allowed: 3 } }, "
                 "{ at: 1s, times: 4, as: { tenant: t }, expect: { allowed: 2 } }, "  // 333333334 ns each
                 "{ at: 1s, as: { tenant: t }, expect: { denied: 1 } }]"),
            "");
}

TEST(CaseRun, a_wait_is_expected_as_answers_say_it_or_exactly) {
  const std::string step = "steps: [{ times: 4, as: { tenant: t }, expect: { retry_after: ";
  EXPECT_EQ(said(step + "334ms } }]"), "");
  EXPECT_EQ(said(step + "333333334ns } }]"), "");
  EXPECT_NE(said(step + "333ms } }]"), "");
  EXPECT_NE(said(step + "335ms } }]"), "");
}

TEST(CaseRun, an_override_ends_and_a_shadow_too) {
  const std::string acme = "explain: { as: { tenant: acme }, expect: { tenant: ";
  EXPECT_EQ(said(acme + "400/s burst 800 } }"), "");
  EXPECT_EQ(said("now: 2026-12-01, " + acme + "[3/s, 100/day] } }"), "");
  const std::string tried = "steps: [{ times: 2, as: { tenant: t }, expect: { allowed: ";
  EXPECT_EQ(said("now: 2026-12-23T23:59:59Z, " + tried + "2 } }]"), "");
  EXPECT_EQ(said("now: 2026-12-24, " + tried + "1, by: tried } }]"), "");
}

TEST(CaseRun, a_failed_step_shows_expected_and_seen_and_why) {
  EXPECT_EQ(said("steps: [{ as: { tenant: t } }, { at: 250ms, times: 4, as: { tenant: t, ip: \"::1\" }, "
                 "expect: { allowed: 4, denied: 0, by: ip, retry_after: none, remaining: 5 } }]"),
            "  t.yaml:4:47: step 2, at 250ms, 4 times\n"
            "                 expected  seen\n"
            "    allowed      4         2\n"
            "    denied       0         2\n"
            "    by           ip        tenant\n"
            "    retry_after  none      83.333334ms\n"
            "    remaining    5         0\n"
            "    route  l.yaml:14\n"
            "      ip  50/s burst 100  l.yaml:4  key ip=::/64\n"
            "        allowed, 98 of 100 left\n"
            "    * tenant  3/s  l.yaml:7  key tenant=t\n"
            "        denied, 0 of 3 left, retry in 83.333334ms\n"
            "      tenant  100/d  l.yaml:7  key tenant=t\n"
            "        allowed, 97 of 100 left\n"
            "      tried  1/min  l.yaml:10  key tenant=t\n"
            "        would_deny, 0 of 1 left, retry in 59.75s\n");
}

TEST(CaseRun, a_failed_explain_shows_the_rates_side_by_side) {
  EXPECT_EQ(said("explain: { as: { tenant: acme }, expect: { tenant: [3/s, 100/day], ip: 1/s, tried: [] } }"),
            "  t.yaml:4:25: explain\n"
            "            expected    seen\n"
            "    tenant  100/d, 3/s  400/s burst 800\n"
            "    ip      1/s         nothing\n"
            "    tried   nothing     1/min\n"
            "    route  l.yaml:14\n"
            "      ip  l.yaml:4\n"
            "        skipped, the request has no 'ip'\n"
            "    * tenant  400/s burst 800  l.yaml:7, override l.yaml:9  key tenant=acme\n"
            "        allowed, 800 of 800 left\n"
            "      tenant  unlimited  l.yaml:7, override l.yaml:9  key tenant=acme\n"
            "        unlimited\n"
            "      tried  1/min  l.yaml:10  key tenant=acme\n"
            "        allowed, 1 of 1 left\n");
}

TEST(CaseRun, a_request_that_is_an_error_fails_its_step) {
  EXPECT_EQ(said("steps: [{ as: { path: /must, tenant: t }, expect: { allowed: 1 } }]"),
            "  t.yaml:4:24: step 1, at 0s\n"
            "    the request is an error: limits.must: the request has no attribute 'user'\n");
}

// Of a test of limits that are waited for, as said().
std::string said_of(const char* limits, const std::string& test) {
  const auto cases = cases_of("  - { name: x, " + test + " }\n", limits);
  CaseReport report;
  report.files.push_back(run(*cases, "", nullptr));
  const std::string text = text_of(report, false);
  const std::size_t from = text.find('\n') + 1;
  return text.starts_with("t.yaml: 1 test, 0 failed") ? "" : text.substr(from, text.rfind("t.yaml:") - from);
}

constexpr const char* kWaits =
    "version: 1\n"
    "limits:\n"
    "  calls: { by: [api], rate: 1/s burst 1, max_wait: 5s }\n"
    "  tokens: { by: [model], rate: 1/s burst 1000, max_wait: 5s, hold: { estimate: 400, ttl: 60s, at_most: "
    "50% } }\n"
    "  windows: { by: [w], rate: 9/min algorithm=sliding_window_counter }\n";

TEST(CaseRun, a_step_that_reserves_waits) {
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { api: a }, reserve: true, expect: { wait: 0s } }, "
                    "{ as: { api: a }, times: 6, reserve: true, "
                    "expect: { allowed: 5, denied: 1, wait: 5s, retry_after: 1s, by: calls } }, "
                    "{ at: 1s, as: { api: b }, times: 2, max_wait: 0s, expect: { allowed: 1, denied: 1 } }, "
                    "{ as: { x: y }, reserve: true, expect: { allowed: 1, wait: 0s } }]"),
            "");
  EXPECT_EQ(said_of(kWaits, "steps: [{ as: { api: a }, times: 2, reserve: true, expect: { wait: 2s } }]"),
            "  t.yaml:4:24: step 1, at 0s, 2 times\n"
            "          expected  seen\n"
            "    wait  2s        1s\n"
            "    no route\n"
            "    * calls  1/s  l.yaml:3  key api=a\n"
            "        allowed, 0 of 1 left\n"
            "      tokens  l.yaml:4\n"
            "        skipped, the request has no 'model'\n"
            "      windows  l.yaml:5\n"
            "        skipped, the request has no 'w'\n");
  EXPECT_EQ(
      said_of(kWaits, "steps: [{ as: { api: a }, max_wait: 6s }]"),
      "  t.yaml:4:24: step 1, at 0s\n"
      "    the request is an error: max_wait is above 5s, the least of the limits that the request meets\n");
}

TEST(CaseRun, a_step_holds_and_settles_and_the_cost_may_be_by_limit) {
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { model: m }, hold: 30s, expect: { allowed: 1, remaining: 600 } }, "
                    "{ as: { model: m }, hold: 30s, expect: { denied: 1, by: tokens, retry_after: 30s } }, "
                    "{ settle: 100 }, "
                    "{ as: { model: m }, cost: 0, expect: { remaining: 900 } }, "
                    "{ as: { model: m }, cost: { tokens: 500 }, reserve: true, expect: { remaining: 400 } }, "
                    "{ settle: { tokens: 0 } }, "
                    "{ as: { model: m }, cost: 0, expect: { remaining: 900 } }]"),
            "");
  EXPECT_EQ(said_of(kWaits, "steps: [{ settle: 100 }]"),
            "  t.yaml:4:24: step 1, at 0s\n"
            "    the request is an error: there is no open hold to settle\n");
}

constexpr const char* kSlots =
    "version: 1\n"
    "limits:\n"
    "  calls: { by: [api], in_flight: 2, hold: { ttl: 60s } }\n"
    "  tokens: { by: [api], rate: 1/s burst 1000, hold: { estimate: 400, ttl: 60s } }\n"
    "  month: { by: [api], rate: 1000/month align=calendar, hold: { estimate: 400, ttl: 60s } }\n";

TEST(CaseRun, holds_have_names) {
  EXPECT_EQ(
      said_of(kSlots,
              "steps: [{ as: { api: a }, hold: one, expect: { allowed: 1, in_flight: { calls: 1 } } }, "
              "{ as: { api: a }, hold: { two: 30s }, expect: { allowed: 1, in_flight: { calls: 2 } } }, "
              "{ as: { api: a }, cost: { tokens: 1, month: 1 }, times: 3, hold: 30s, "
              "expect: { denied: 3, busy: 3, by: calls, retry_after: 30s } }, "
              "{ at: 10s, settle: { one: 100 }, expect: { in_flight: { calls: 1 } } }, "
              "{ as: { api: a }, cost: 0, hold: 1s, expect: { remaining: 1 } }, "
              "{ extend: { two: 50s } }, "
              "{ at: 59s, settle: two, expect: { in_flight: { calls: 0 } } }]"),
      "");
  // Its moment, until a pause lies over it.
  EXPECT_EQ(said_of("version: 1\nlimits:\n  calls: { by: [api], rate: 1/s burst 1, max_wait: 1m }\n",
                    "steps: [{ as: { api: a } }, "
                    "{ as: { api: a }, hold: one, max_wait: 9s, expect: { wait: 1s } }, "
                    "{ at: 400ms, moment: one, expect: { wait: 600ms } }, "
                    "{ as: { api: a }, charge: { pause: 3s } }, "
                    "{ moment: one, expect: { error: hold 'one' has no moment } }, "
                    "{ cancel: one, expect: { error: hold 'one' cannot be cancelled } }]"),
            "");
  // By limit, and in which order does not matter.
  EXPECT_EQ(said_of(kSlots,
                    "steps: [{ as: { api: a }, hold: one }, { as: { api: a }, hold: two }, "
                    "{ settle: { one: { month: 900 } } }, "
                    "{ as: { api: a }, hold: three, expect: { denied: 1, busy: 0, by: month } }, "
                    "{ settle: { three: 1 }, expect: { error: hold 'three' is not open } }, "
                    "{ at: 1m, settle: { two: 1 }, expect: { error: hold 'two' is not open } }, "
                    "{ extend: { two: 1s }, expect: { error: hold 'two' is not open } }]"),
            "");
  EXPECT_EQ(
      said_of(kSlots, "steps: [{ as: { api: a }, hold: one, expect: { busy: 1, in_flight: { calls: 2 } } }]")
          .substr(0, 140),
      "  t.yaml:4:24: step 1, at 0s\n"
      "                        expected  seen\n"
      "    busy                1         0\n"
      "    in_flight of calls  2         1\n");
}

TEST(CaseRun, what_was_reserved_by_a_name_is_cancelled_before_its_moment) {
  EXPECT_EQ(
      said_of(kWaits,
              "steps: [{ as: { api: a }, reserve: true }, { as: { api: a }, hold: a, expect: { wait: 1s } }, "
              "{ cancel: a }, { as: { api: a }, hold: b, expect: { wait: 1s } }, "
              "{ cancel: a, expect: { error: hold 'a' cannot be cancelled } }, "
              "{ at: 1s, cancel: b, expect: { error: its moment has come } }]"),
      "");
}

TEST(CaseRun, what_happened_elsewhere_is_charged) {
  EXPECT_EQ(said_of(kSlots,
                    "steps: [{ as: { api: a }, charge: 600 }, "
                    "{ as: { api: a }, hold: one, expect: { allowed: 1, remaining: 0 } }, "
                    "{ as: { api: a }, hold: two, expect: { denied: 1, by: month } }]"),
            "");
  EXPECT_EQ(said_of(kSlots,
                    "steps: [{ as: { api: a }, charge: { cost: { tokens: 900 } } }, "
                    "{ as: { api: a }, hold: one, expect: { denied: 1, by: tokens, retry_after: 300s } }]"),
            "");
  EXPECT_EQ(said_of(kSlots,
                    "steps: [{ as: { api: a }, charge: { remaining: 100, limit: tokens } }, "
                    "{ as: { api: a }, hold: one, expect: { denied: 1, by: tokens, retry_after: 300s } }, "
                    "{ as: { api: a }, charge: { remaining: 100 }, expect: { error: limit } }]"),
            "");
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { api: a }, charge: { pause: 30s } }, "
                    "{ as: { api: a }, expect: { denied: 1, by: calls, retry_after: 30s } }]"),
            "");
}

TEST(CaseRun, a_pause_and_a_penalty_may_be_afresh) {
  constexpr const char* kLogin =
      "version: 1\nlimits: { login: { by: [api], rate: 5/h burst 5, refunds: true, "
      "penalty: { for: 15m, then: afresh } } }";
  EXPECT_EQ(
      said_of(kLogin,
              "steps: [{ as: { api: a }, times: 6, expect: { allowed: 5, denied: 1, retry_after: 15m } }, "
              "{ at: 15m, as: { api: a }, times: 6, expect: { allowed: 5, denied: 1 } }, "
              "{ at: 30m, as: { api: b }, charge: { cost: 99 } }, "
              "{ as: { api: b }, charge: { pause: 30s, afresh: true } }, "
              "{ at: 1830s, as: { api: b }, times: 5, expect: { allowed: 5 } }]"),
      "");
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { api: a }, charge: { pause: 1s, afresh: true }, "
                    "expect: { error: takes no pause afresh } }]"),
            "");
}

constexpr const char* kRefunds =
    "version: 1\n"
    "limits:\n"
    "  calls: { by: [api], rate: 5/h burst 5, refunds: true }\n"
    "  tokens: { by: [api], rate: 100/h burst 100, refunds: true }\n"
    "  kept: { by: [k], rate: 5/h burst 5 }\n";

TEST(CaseRun, what_was_not_used_is_given_back) {
  EXPECT_EQ(
      said_of(kRefunds,
              "steps: [{ as: { api: a }, cost: { calls: 1, tokens: 60 }, times: 2, expect: { allowed: 1 } }, "
              "{ as: { api: a }, refund: { cost: { calls: 0, tokens: 50 }, limit: tokens }, "
              "expect: { given_back: 50 } }, "
              "{ as: { api: a }, cost: { calls: 4, tokens: 90 }, expect: { allowed: 1, remaining: 0 } }, "
              "{ as: { api: a }, refund: 2, expect: { given_back: 2 } }, "
              "{ as: { api: a }, times: 3, expect: { allowed: 2, by: calls } }, "
              "{ as: { api: b }, refund: true, expect: { given_back: 0 } }, "
              "{ as: { k: x }, refund: 1, expect: { error: it has to say refunds } }]"),
      "");
  const std::string wrong =
      said_of(kRefunds, "steps: [{ as: { api: a }, refund: 1, expect: { given_back: 1 } }]");
  EXPECT_NE(wrong.find("given_back  1         0\n"), wrong.npos) << wrong;
}

TEST(CaseRun, what_was_charged_is_forgotten) {
  EXPECT_EQ(said_of(kRefunds,
                    "steps: [{ as: { api: a }, times: 6, expect: { allowed: 5 } }, "
                    "{ as: { api: a }, reset: { limit: tokens }, expect: { reset: 1 } }, "
                    "{ as: { api: a }, expect: { denied: 1, by: calls } }, "
                    "{ as: { api: a }, reset: true, expect: { reset: 1 } }, "
                    "{ as: { api: a }, reset: true, expect: { reset: 0 } }, "
                    "{ as: { api: a }, times: 5, expect: { allowed: 5 } }]"),
            "");
  EXPECT_EQ(said_of(kLogs,
                    "steps: [{ as: { user: u }, times: 3, expect: { allowed: 2 } }, "
                    "{ as: { user: u }, reset: true, expect: { reset: 3 } }, { as: { user: u }, expect: { "
                    "allowed: 1 } }]"),
            "");
}

TEST(CaseRun, a_look_charges_nothing) {
  EXPECT_EQ(said_of(kRefunds,
                    "steps: [{ as: { api: a }, look: true, times: 9, expect: { allowed: 9, remaining: 5 } }, "
                    "{ as: { api: a }, look: { cost: 9, at_least: 1 }, expect: { allowed: 1, granted: 5 } }, "
                    "{ as: { api: a }, check: true, cost: 5, expect: { allowed: 1 } }, "
                    "{ as: { api: a }, look: 1, expect: { denied: 1, by: calls, retry_after: 12m } }]"),
            "");
}

TEST(CaseRun, what_a_reservation_is_told_may_be_expected) {
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { model: m }, hold: one }, { extend: 20s, expect: { hold: 20s } }, "
                    "{ settle: { one: 1000 }, expect: { wait: 1s } }, "
                    "{ settle: 1, expect: { error: there is no open hold to settle } }, "
                    "{ as: { api: a } }, { as: { api: a }, hold: two, max_wait: 5s, expect: { wait: 1s } }, "
                    "{ cancel: two, expect: { given_back: 1 } }]"),
            "");
  const std::string wrong = said_of(
      kWaits, "steps: [{ as: { model: m }, hold: one }, { extend: { one: 9s }, expect: { hold: 8s } }]");
  EXPECT_NE(wrong.find("hold  8s        9s\n"), wrong.npos) << wrong;
}

TEST(CaseRun, an_error_may_be_expected) {
  EXPECT_EQ(said_of(kSlots, "steps: [{ as: { api: a }, expect: { error: hold } }]"), "");
  EXPECT_EQ(said_of(kWaits,
                    "steps: [{ as: { w: x }, reserve: true, expect: { error: gcra and fixed windows can } }, "
                    "{ as: { api: a }, hold: 1s }, { settle: 99, expect: { error: has a hold } }]"),
            "");
  EXPECT_EQ(said_of(kWaits, "steps: [{ as: { api: a }, expect: { error: unknown attribute } }]"),
            "  t.yaml:4:24: step 1, at 0s\n"
            "           expected           seen\n"
            "    error  unknown attribute  none\n");
}

TEST(CaseRun, a_window_that_is_lifted_may_be_expected) {
  const std::string acme = "explain: { as: { tenant: acme }, expect: { tenant: ";
  EXPECT_EQ(said(acme + "[400/s burst 800, unlimited/day] } }"), "");
  EXPECT_EQ(said(acme + "[400/s burst 800, unlimited/1d] } }"), "");
  EXPECT_EQ(said(acme + "400/s burst 800 } }"), "");
  const std::string wrong = said("explain: { as: { tenant: t }, expect: { tenant: [3/s, unlimited/day] } }");
  EXPECT_NE(wrong.find("3/s, unlimited/1d  100/d, 3/s"), std::string::npos) << wrong;
}

// What the log denies is charged to no other window, and the reverse.
TEST(CaseRun, a_sliding_window_log_is_counted_with_the_others) {
  const std::shared_ptr<const Cases> cases = cases_of(
      "  - name: log\n"
      "    steps:\n"
      "      - { as: { user: a }, times: 3, expect: { allowed: 2, by: user, retry_after: 1s } }\n"
      "      - { at: 500ms, as: { user: a }, expect: { denied: 1, by: user, retry_after: 500ms } }\n"
      "      - { at: 1s, as: { user: a }, cost: 3, expect: { denied: 1, by: user } }\n"
      "      - { at: 1s, as: { user: a }, cost: 5, at_least: 1, expect: { granted: 2 } }\n"
      "      - { at: 5s, as: { user: a }, expect: { denied: 1, by: user, retry_after: 10s } }\n"
      "      - { at: 15s, as: { user: a }, times: 2, expect: { allowed: 1, denied: 1 } }\n"
      "      - { at: 15s, as: { user: b }, cost: 2, expect: { allowed: 1, remaining: 0 } }\n"
      "      - { at: 15s, as: { user: b }, expect: { denied: 1, retry_after: 1s } }\n",
      kLogs);
  CaseReport report;
  report.files.push_back(run(*cases, "", nullptr));
  EXPECT_EQ(report.failed(), 0U) << text_of(report, false);
}

TEST(CaseRun, each_test_begins_without_debts) {
  const std::string steps = "steps: [{ times: 4, as: { tenant: t }, expect: { allowed: 3 } }] }\n";
  EXPECT_EQ(report_of("  - { name: a, " + steps + "  - { name: b, " + steps).failed(), 0U);
}

// More keys than the least of stores has room for; one that has none denies.
TEST(CaseRun, a_long_test_has_room_for_all_its_keys) {
  Cases cases =
      *cases_of("  - { name: long, steps: [{ as: { ip: a, tenant: t }, expect: { allowed: 1 } }] }\n");
  std::vector<CaseStep>& steps = cases.cases[0].steps;
  constexpr std::size_t kKeysOfOne = 4;
  while (steps.size() * kKeysOfOne < store::Table::kSlotsPerSegment * 5 / 4) {
    CaseStep step = steps[0];
    for (auto& [name, value] : step.asked.as) value += std::to_string(steps.size());
    steps.push_back(std::move(step));
  }
  CaseReport report;
  report.files.push_back(run(cases, "", nullptr));
  EXPECT_EQ(report.failed(), 0U);
}

TEST(CaseRun, a_pattern_is_looked_for_anywhere_in_the_name) {
  const std::string two =
      "  - { name: a user bursts, steps: [{ as: {} }] }\n"
      "  - { name: acme ends, steps: [{ as: {} }] }\n";
  EXPECT_EQ(report_of(two, "user").tests(), 1U);
  EXPECT_EQ(report_of(two, "a*s").tests(), 2U);
  EXPECT_EQ(report_of(two, "a*e*n").tests(), 1U);
  EXPECT_EQ(report_of(two, "c*u").tests(), 0U);
}

std::string missing_of(const std::string& tests) {
  const std::shared_ptr<const Cases> cases = cases_of(tests);
  Coverage coverage(cases->file);
  run(*cases, "", &coverage);
  std::string text;
  for (const Covered& each : coverage.all()) {
    if (!each.done) text += each.path + " never " + each.what + "\n";
  }
  return text;
}

TEST(Coverage, names_all_that_no_test_met) {
  EXPECT_EQ(missing_of("  - { name: x, steps: [{ as: {} }] }\n"),
            "lists.partners.acme never met\n"
            "lists.partners.big-* never met\n"
            "limits.ip never allowed\n"
            "limits.ip never denied\n"
            "limits.tenant never allowed\n"
            "limits.tenant never denied\n"
            "limits.tenant.rate[0] never allowed\n"
            "limits.tenant.rate[0] never denied\n"
            "limits.tenant.rate[1] never allowed\n"
            "limits.tenant.rate[1] never denied\n"
            "limits.tenant.overrides[0] never met\n"
            "limits.tried never allowed\n"
            "limits.tried never denied\n"
            "limits.must never allowed\n"
            "limits.must never denied\n"
            "routes[0] never met\n");
}

TEST(Coverage, what_was_met_is_missing_no_more) {
  EXPECT_EQ(missing_of("  - name: x\n"
                       "    steps:\n"
                       "      - { as: { ip: 192.0.2.7, tenant: big-one } }\n"
                       "      - { times: 4, as: { ip: \"::1\", tenant: t } }\n"
                       "  - { name: y, steps: [{ times: 2, as: { path: /must, tenant: t, user: u } }] }\n"),
            "lists.partners.acme never met\n"
            "limits.tenant.rate[1] never denied\n");
}

TEST(Coverage, an_explanation_meets_routes_and_overrides_and_tries_no_limit) {
  const std::string missing = missing_of("  - { name: x, explain: { as: { tenant: acme }, expect: {} } }\n");
  EXPECT_EQ(missing.find("overrides"), std::string::npos);
  EXPECT_NE(missing.find("limits.tenant never allowed"), std::string::npos);
}

}  // namespace
}  // namespace weir::limits
