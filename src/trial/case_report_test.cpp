#include "trial/case_report.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::limits {
namespace {

// Two tests of a file without limits that matter, one of which failed twice.
struct World {
  World() {
    file->name = "l.yaml";
    cases.name = "t.yaml";
    cases.file = file;
    cases.cases.resize(2);
    cases.cases[0].name = "fine";
    cases.cases[0].place = {4, 5};
    cases.cases[1].name = "a < b & \"c\"\x1b";
    cases.cases[1].place = {7, 5};
    CasesResult result{&cases, {{&cases.cases[0], {}}, {&cases.cases[1], {}}}};
    result.results[1].failures = {
        {{9, 9}, "step 1, at 0s", {{"allowed", "40", "41"}}, "", "route  l.yaml:3\n  meets no limit\n"},
        {{10, 9}, "step 2, at 1s", {}, "no such thing", ""}};
    report.files.push_back(std::move(result));
  }

  std::shared_ptr<File> file = std::make_shared<File>();
  Cases cases;
  CaseReport report;
};

TEST(CaseReport, of_a_terminal_names_what_failed) {
  const World world;
  const std::string failed =
      "FAILED  a < b & \"c\"\\x1b\n"
      "  t.yaml:9:9: step 1, at 0s\n"
      "             expected  seen\n"
      "    allowed  40        41\n"
      "    route  l.yaml:3\n"
      "      meets no limit\n"
      "  t.yaml:10:9: step 2, at 1s\n"
      "    the request is an error: no such thing\n"
      "t.yaml: 2 tests, 1 failed\n";
  EXPECT_EQ(text_of(world.report, false), failed);
  EXPECT_EQ(text_of(world.report, true), "ok      fine\n" + failed);
}

TEST(CaseReport, of_a_program_is_json) {
  const World world;
  EXPECT_EQ(json_of(world.report),
            R"({"tests":2,"failed":1,"files":[{"file":"t.yaml","limits":"l.yaml","tests":[)"
            R"({"name":"fine","line":4,"passed":true,"failures":[]},)"
            R"({"name":"a < b & \"c\"\u001b","line":7,"passed":false,"failures":[)"
            R"({"line":9,"column":9,"step":"step 1, at 0s","error":null,)"
            R"("mismatches":[{"what":"allowed","expected":"40","seen":"41"}],)"
            R"("explanation":"route  l.yaml:3\n  meets no limit\n"},)"
            R"({"line":10,"column":9,"step":"step 2, at 1s","error":"no such thing","mismatches":[],)"
            R"("explanation":""}]}]}]})");
}

TEST(CaseReport, of_a_build_server_is_xml) {
  const World world;
  EXPECT_EQ(junit_of(world.report),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites tests=\"2\" failures=\"1\">\n"
            "  <testsuite name=\"t.yaml\" tests=\"2\" failures=\"1\">\n"
            "    <testcase classname=\"t.yaml\" name=\"fine\"/>\n"
            "    <testcase classname=\"t.yaml\" name=\"a &lt; b &amp; &quot;c&quot;\\x1b\">\n"
            "      <failure message=\"step 1, at 0s\">  t.yaml:9:9: step 1, at 0s\n"
            "             expected  seen\n"
            "    allowed  40        41\n"
            "    route  l.yaml:3\n"
            "      meets no limit\n"
            "</failure>\n"
            "      <failure message=\"step 2, at 1s\">  t.yaml:10:9: step 2, at 1s\n"
            "    the request is an error: no such thing\n"
            "</failure>\n"
            "    </testcase>\n"
            "  </testsuite>\n"
            "</testsuites>\n");
}

TEST(CaseReport, of_coverage_names_what_is_missing) {
  World world;
  NamedLimit limit;
  limit.name = "user";
  limit.place = {5, 3};
  limit.windows.push_back({core::Rule::parse("1/s").value(), {5, 20}});
  world.file->limits.push_back(limit);
  world.report.files.clear();
  world.report.coverage.emplace_back(world.file);
  const std::array<store::Check, 1> checks{{{nullptr, "", {}, {Verdict::allowed, 1, 0, {}, {}}}}};
  world.report.coverage[0].add_decided({kNone, kNone, {{TraceStep::What::counted, 0, 0}}}, checks);
  EXPECT_EQ(text_of(world.report, false),
            "coverage of l.yaml: 1 of 2, 50.0 %\n"
            "  l.yaml:5:3: limits.user: never denied\n");
  EXPECT_EQ(json_of(world.report),
            R"({"tests":0,"failed":0,"files":[],"coverage":[{"limits":"l.yaml","met":1,"of":2,)"
            R"("missing":[{"path":"limits.user","line":5,"never":"denied"}]}]})");
}

}  // namespace
}  // namespace weir::limits
