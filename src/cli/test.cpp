// weir test: the unit tests of limits files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/option_table.hpp"
#include "cli/print.hpp"
#include "limits/scalars.hpp"
#include "trial/case_report.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct TestFlags {
  std::vector<std::string> files;
  bool every = false;
  std::string pattern;
  bool coverage = false;
  std::string threshold;
  std::string format = "text";
  bool json = false;
};

// The coverage of a limits file, which several files of tests may share.
limits::Coverage* coverage_of(const std::shared_ptr<const limits::File>& file,
                              std::vector<limits::Coverage>& all) {
  for (limits::Coverage& each : all) {
    if (each.file().name == file->name && each.file().text == file->text) return &each;
  }
  return &all.emplace_back(file);
}

bool below(const limits::Coverage& coverage, limits::Share threshold) {
  return coverage.done() * limits::Share::kWhole < coverage.all().size() * threshold.millionths;
}

int test(const TestFlags& flags) {
  limits::Share threshold{};
  if (!flags.threshold.empty()) {
    const auto read = limits::read_share(flags.threshold);
    if (!read) throw std::runtime_error("threshold: " + read.error());
    threshold = *read;
  }
  std::vector<std::shared_ptr<const limits::Cases>> all;
  bool wrong = false;
  for (const std::string& path : flags.files) {
    const limits::CasesReading reading = limits::read_cases_file(path);
    for (const limits::Finding& finding : reading.findings)
      std::fprintf(stderr, "%s\n", to_text(finding).c_str());
    wrong = wrong || !reading.cases;
    all.push_back(reading.cases);
  }
  if (wrong) return 2;

  const bool covering = flags.coverage || !flags.threshold.empty();
  limits::CaseReport report;
  report.coverage.reserve(all.size());  // they are pointed to
  for (const auto& cases : all) {
    limits::Coverage* const coverage = covering ? coverage_of(cases->file, report.coverage) : nullptr;
    report.files.push_back(limits::run(*cases, flags.pattern, coverage));
  }
  if (report.tests() == 0) throw std::runtime_error("run: no test has '" + flags.pattern + "' in its name");
  const std::string format = flags.json ? "json" : flags.format;
  print(format == "json"    ? limits::json_of(report) + "\n"
        : format == "junit" ? limits::junit_of(report)
                            : limits::text_of(report, flags.every));
  const bool thin = std::any_of(report.coverage.begin(), report.coverage.end(),
                                [threshold](const auto& each) { return below(each, threshold); });
  if (thin) std::fprintf(stderr, "weir: the coverage is below %s\n", flags.threshold.c_str());
  return report.failed() > 0 || thin ? 1 : 0;
}

}  // namespace

void add_test(CLI::App& app, int& result) {
  auto flags = std::make_shared<TestFlags>();
  CLI::App* test_app =
      app.add_subcommand("test", "Run a limits file's tests; exit code 0 passed, 1 failed, 2 error");
  test_app->add_option("FILE", flags->files, "files of tests; - is standard input")
      ->type_name("FILE")
      ->required();
  test_app->add_flag("-v,--verbose", flags->every, "name the tests that passed too");
  test_app
      ->add_option("--run", flags->pattern, "only tests with this in their name; * is any run of characters")
      ->type_name("PATTERN");
  test_app->add_flag("--coverage", flags->coverage, "say which parts of the limits file no test met");
  test_app->add_option("--threshold", flags->threshold, "fail when the coverage is below, as in 90%")
      ->type_name("SHARE");
  take_only(*test_app->add_option("--format", flags->format, "form of the report")->capture_default_str(),
            {"text", "json", "junit"});
  test_app->add_flag("--json", flags->json, "the same as --format json");
  test_app->callback([flags, &result] { result = test(*flags); });
}

}  // namespace weir::cli
