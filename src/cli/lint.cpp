// weir lint: everything that is wrong with limits files, at once.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/limits_flags.hpp"
#include "core/json_writer.hpp"
#include "core/plural.hpp"
#include "core/printable.hpp"
#include "limits/envoy_file.hpp"
#include "limits/envoy_folder.hpp"
#include "limits/read.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::cli {
namespace {

using limits::Finding;
using limits::Severity;

struct LintFlags {
  std::vector<std::string> files;
  std::string rls_config;
  bool rls_merge_domains = false;
  std::string now;
  bool store = false;
  std::string max_wait = "1h";
  bool strict = false;
  bool json = false;
};

struct Counts {
  std::size_t errors = 0;
  std::size_t warnings = 0;
  bool unreadable = false;

  void add(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      errors += finding.severity == Severity::error ? 1 : 0;
      warnings += finding.severity == Severity::warning ? 1 : 0;
      unreadable = unreadable || finding.rule == limits::FileRule::none;
    }
  }
};

void write(core::JsonWriter& json, const Finding& finding) {
  constexpr const char* kSeverities[] = {"error", "warning", "note"};
  json.begin_object();
  json.member("severity", kSeverities[static_cast<std::size_t>(finding.severity)]);
  json.member("rule", number_of(finding.rule));
  json.member("file", finding.file);
  json.member("line", finding.place.line);
  json.member("column", finding.place.column);
  json.member("path", finding.path);
  json.member("text", finding.text);
  json.end_object();
}

std::string json_of(const Counts& counts, const std::vector<Finding>& findings) {
  std::string out;
  core::JsonWriter json(out, core::JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("errors", counts.errors);
  json.member("warnings", counts.warnings);
  json.begin_array("findings");
  for (const Finding& each : findings) write(json, each);
  json.end_array();
  json.end_object();
  return out;
}

limits::Deployment served_by(const LintFlags& flags) {
  const auto wait = limits::read_time_span(flags.max_wait);
  if (!wait) throw std::runtime_error("max-wait: " + wait.error());
  return {flags.store, *wait};
}

// Prints what was found, or keeps it for JSON.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  template <class Text>
  void add(const std::vector<Finding>& findings, const Text& text_of) {
    counts_.add(findings);
    for (const Finding& finding : findings) {
      if (json_) {
        all_.push_back(finding);
      } else {
        std::puts(text_of(finding).c_str());
      }
    }
  }
  void clean(const std::string& name, const std::string& counted) {
    if (!json_) std::printf("%s: clean: %s\n", core::printable(name).c_str(), counted.c_str());
  }
  const Counts& finish() const {
    if (json_) std::puts(json_of(counts_, all_).c_str());
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
    return counts_;
  }

 private:
  const bool json_;
  Counts counts_;
  std::vector<Finding> all_;
};

void lint_folder(const LintFlags& flags, Report& report) {
  const limits::EnvoyFolder folder =
      limits::read_envoy_folder(flags.rls_config, {.compiling = {.merge_domains = flags.rls_merge_domains}});
  std::vector<Finding> findings = folder.findings;
  if (folder.set && folder.files == 0)
    findings.push_back({Severity::warning,
                        limits::FileRule::form,
                        flags.rls_config,
                        {},
                        "",
                        "there is no file, so no domain is known and nothing is limited"});
  report.add(findings, limits::envoy_text);
  if (findings.empty())
    report.clean(flags.rls_config, core::counted(folder.set->domains(), "domain") + ", " +
                                       core::counted(folder.set->limits(), "limit"));
}

int lint(const LintFlags& flags) {
  if (flags.files.empty() == flags.rls_config.empty())
    throw std::runtime_error("lint takes limits files, or a folder by --rls-config");
  limits::ReadOptions options;
  options.now = now_of(flags.now);
  options.past = Severity::error;
  const limits::Deployment served = served_by(flags);
  options.deployment = &served;
  const bool colour = wants_colour();
  Report report(flags.json);
  if (!flags.rls_config.empty()) lint_folder(flags, report);
  for (const std::string& path : flags.files) {
    const limits::ReadResult reading = limits::read_file(path, options);
    report.add(reading.findings, [colour](const Finding& finding) { return shown(finding, colour); });
    if (reading.findings.empty())
      report.clean(reading.file->name, core::counted(reading.file->limits.size(), "limit") + ", " +
                                           core::counted(reading.file->routes.size(), "route"));
  }
  const Counts& counts = report.finish();
  if (counts.unreadable) return 2;
  return counts.errors > 0 || (flags.strict && counts.warnings > 0) ? 1 : 0;
}

}  // namespace

void add_lint(CLI::App& app, int& result) {
  auto flags = std::make_shared<LintFlags>();
  CLI::App* lint_app =
      app.add_subcommand("lint", "Check limits files; exit code 0 clean, 1 errors, 2 unreadable");
  lint_app->add_option("LIMITS", flags->files, "limits files; - is the standard input")->type_name("FILE");
  lint_app
      ->add_option("--rls-config", flags->rls_config,
                   "folder of envoyproxy/ratelimit's files, and no limits files")
      ->type_name("FOLDER");
  lint_app->add_flag("--rls-merge-domains", flags->rls_merge_domains, "several of them may say one domain");
  lint_app->add_flag("--strict", flags->strict, "warnings are errors");
  lint_app->add_option("--now", flags->now, "the time that `until` is compared with [the clock's]")
      ->type_name("TIME");
  lint_app->add_flag("--store", flags->store, "the server has a shared store, whatever its address");
  lint_app
      ->add_option("--max-wait", flags->max_wait, "the server's --max-wait, above which no max_wait may be")
      ->type_name("TIME")
      ->capture_default_str();
  lint_app->add_flag("--json", flags->json, "print one line of JSON");
  lint_app->callback([flags, &result] { result = lint(*flags); });
}

}  // namespace weir::cli
