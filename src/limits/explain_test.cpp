#include "limits/explain.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::milliseconds;

core::Rule rule(const char* text) { return core::Rule::parse(text).value(); }

// ip (line 3): an exempt network; tenant (line 5): two windows, of which an override (line 8) lifts one;
// team: skipped.
File a_file() {
  File file;
  file.classes = {"critical", "default"};
  NamedLimit ip;
  ip.name = "ip";
  ip.by = {{"ip", {32, 64}}};
  ip.windows = {{rule("50/s"), {3, 9}}};
  ip.place = {3, 3};
  NamedLimit tenant;
  tenant.name = "tenant";
  tenant.by = {{"tenant", {}}};
  tenant.windows = {{rule("10/s burst 20"), {6, 12}}, {rule("1000/d"), {6, 27}}};
  tenant.place = {5, 3};
  Override raise;
  raise.reason = "TICKET-4711";
  raise.place = {8, 9};
  tenant.overrides = {raise};
  NamedLimit team;
  team.name = "team";
  team.by = {{"team", {}}};
  team.windows = {{rule("5/s"), {10, 12}}};
  team.place = {10, 3};
  file.limits = {ip, tenant, team};
  Route route;
  route.place = {13, 5};
  file.routes = {route};
  return file;
}

TEST(Explain, says_each_limit_with_its_numbers_their_line_and_the_one_that_decides) {
  const File file = a_file();
  const store::Limit raised{rule("400/s burst 800")};
  std::array<store::Check, 1> checks{{{&raised, "key", Cost{3}}}};
  checks[0].decision = {Verdict::denied, 800, 1, milliseconds{5}, milliseconds{1999}};
  store::Request request;
  request.checks = checks;
  const Trace trace{0,
                    1,
                    {{TraceStep::What::exempt, 0},
                     {TraceStep::What::counted, 1, 0, 0},
                     {TraceStep::What::lifted, 1, 1, 0},
                     {TraceStep::What::skipped, 2}}};
  const std::array<Attribute, 2> attributes{{{"ip", "2001:db8::7"}, {"tenant", "acme"}}};

  const Explanation explanation = explain(file, trace, attributes, checks, &request);
  EXPECT_EQ(to_text(explanation, "limits.yaml"),
            "route  limits.yaml:13  class default\n"
            "  ip  limits.yaml:3  key ip=2001:db8::/64\n"
            "    exempt by `allow`\n"
            "* tenant  400/s burst 800  limits.yaml:6, override limits.yaml:8 (TICKET-4711)  key tenant=acme "
            " cost 3\n"
            "    denied, 1 of 800 left, retry in 5ms\n"
            "  tenant  unlimited  limits.yaml:6, override limits.yaml:8 (TICKET-4711)  key tenant=acme\n"
            "    unlimited\n"
            "  team  limits.yaml:10\n"
            "    skipped, the request has no 'team'\n");
  EXPECT_EQ(explanation.by, 1);
  EXPECT_EQ(explanation.checks[1].window, "1s");
  EXPECT_EQ(explanation.checks[2].window, "1d");
}

// Those of one line are told once.
TEST(Explain, says_which_override_has_the_cost_and_the_shares) {
  File file = a_file();
  Override cheap;
  cheap.place = {9, 9};
  file.limits[1].overrides.push_back(cheap);
  const store::Limit raised{rule("400/s burst 800")};
  std::array<store::Check, 1> checks{{{&raised, "key", Cost{1}}}};
  const std::array<Attribute, 1> attributes{{{"tenant", "acme"}}};
  const auto line = [&](TraceStep step) {
    const Explanation told = explain(file, {kNone, kNone, {step}}, attributes, checks);
    const std::string text = to_text(told, "f");
    const std::size_t from = text.find("f:6") + 3;
    return text.substr(from, text.find("  key") - from) + " " + std::to_string(told.checks[0].override_line);
  };
  EXPECT_EQ(line({TraceStep::What::counted, 1, 0, 0, 1, 0, kNone}),
            ", override f:8 (TICKET-4711), override of cost f:9 8");
  EXPECT_EQ(line({TraceStep::What::counted, 1, 0, kNone, kNone, 1, 0}),
            ", override of leave f:9, override of reserve f:8 9");
  EXPECT_EQ(line({TraceStep::What::counted, 1, 0, kNone, 0}), ", override of cost f:8 (TICKET-4711) 8");
  EXPECT_EQ(line({TraceStep::What::counted, 1, 0}), " 0");
}

TEST(Explain, says_how_long_a_key_rests_and_that_its_limit_takes_refunds) {
  File file = a_file();
  const store::Limit rests{.rule = rule("10/s burst 20"), .penalty = {.time = std::chrono::minutes{15}}};
  std::array<store::Check, 1> checks{{{&rests, "key", Cost{1}}}};
  const std::array<Attribute, 1> attributes{{{"tenant", "acme"}}};
  const auto line = [&] {
    return to_text(explain(file, {kNone, kNone, {{TraceStep::What::counted, 1, 0}}}, attributes, checks),
                   "f");
  };
  EXPECT_EQ(line(), "no route\n  tenant  10/s burst 20  f:6  key tenant=acme  penalty 15m\n    counted\n");
  file.limits[1].refunds = true;
  EXPECT_EQ(line(),
            "no route\n  tenant  10/s burst 20  f:6  key tenant=acme  penalty 15m  refunds\n    counted\n");
}

TEST(Explain, says_how_a_penalty_grows) {
  const File file = a_file();
  const store::Limit rests{
      .rule = rule("10/s burst 20"),
      .penalty = {
          .time = std::chrono::minutes{15}, .growing = 1250, .most = std::chrono::hours{4}, .afresh = true}};
  std::array<store::Check, 1> checks{{{&rests, "key", Cost{1}}}};
  const std::array<Attribute, 1> attributes{{{"tenant", "acme"}}};
  EXPECT_EQ(
      to_text(explain(file, {kNone, kNone, {{TraceStep::What::counted, 1, 0}}}, attributes, checks), "f"),
      "no route\n  tenant  10/s burst 20  f:6  key tenant=acme  penalty 15m growing 1.25 to 4h then afresh\n"
      "    counted\n");
}

TEST(Explain, what_deny_names_decides_before_any_store_is_asked) {
  const File file = a_file();
  const Trace trace{kNone, kNone, {{TraceStep::What::denied, 0}}};
  const std::array<Attribute, 1> attributes{{{"ip", "192.0.2.1"}}};
  const Explanation explanation = explain(file, trace, attributes, {});
  EXPECT_EQ(explanation.by, 0);
  EXPECT_EQ(to_text(explanation, "f"), "no route\n* ip  f:3  key ip=192.0.2.1\n    denied by `deny`\n");
}

TEST(Explain, a_request_that_meets_nothing_is_told_so) {
  EXPECT_EQ(to_text(explain(a_file(), {0, kNone, {}}, {}, {}), "f"), "route  f:13\n  meets no limit\n");
}

}  // namespace
}  // namespace weir::limits
