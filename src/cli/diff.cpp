// weir diff: what changes from one limits file to another, and whom of a log it touches.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cli/attribute_flags.hpp"
#include "cli/commands.hpp"
#include "cli/growing_file.hpp"
#include "cli/log_flags.hpp"
#include "cli/print.hpp"
#include "sim/file_comparison.hpp"
#include "sim/warnings.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct DiffFlags {
  std::string before;
  std::string after;
  LogFlags log;
  AttributeFlags attributes;
};

// Every window of both files, with what its file denied.
std::vector<sim::TriedRule> tried(const limits::File& before, const limits::File& after,
                                  const sim::ComparisonReport& report) {
  std::vector<sim::TriedRule> all;
  for (const auto& [file, denied] :
       {std::pair{&before, report.denied_before}, {&after, report.denied_after}}) {
    for (const limits::NamedLimit& limit : file->limits) {
      for (const limits::Window& each : limit.windows) all.push_back({each.rule, denied});
    }
  }
  return all;
}

int deliver(LogRun& run, const DiffFlags& flags, sim::FileDifference& difference,
            const sim::ComparisonReport& report) {
  const auto called = [&](sim::Naming naming) {
    difference.log = std::make_unique<const sim::ComparisonReport>(sim::with_names(report, naming));
  };
  called(flags.log.naming());
  const std::string text = sim::text_of(difference, LogRun::colour());
  const std::string json = sim::json_of(difference);
  const int code = run.deliver(text, json, [&] {
    called(flags.log.page_naming());
    return sim::page_of(difference);
  });
  return code != 0 || difference.said.empty() ? code : 1;
}

int diff_on_log(const DiffFlags& flags, const std::shared_ptr<const limits::Set>& before,
                const std::shared_ptr<const limits::Set>& after, sim::FileDifference& difference) {
  std::vector<std::string> attributes = limits::attributes_of(before->file());
  for (std::string& each : limits::attributes_of(after->file())) {
    if (std::find(attributes.begin(), attributes.end(), each) == attributes.end())
      attributes.push_back(std::move(each));
  }
  LogRun run(flags.log, flags.attributes.wanted(attributes));
  sim::FileComparison comparison(before, after, attributes, flags.log.cost.empty());
  run.read([&](std::span<const logs::Event> events) {
    for (const logs::Event& event : events) comparison.take(event, run.reader().clients());
  });
  sim::ComparisonReport report = comparison.report(run.report());
  report.log.warnings =
      sim::warnings_of(report.log, comparison.some_names(), tried(before->file(), after->file(), report));
  run.write_names([&comparison] { return comparison.names(); });
  return deliver(run, flags, difference, report);
}

int diff(const DiffFlags& flags) {
  const std::shared_ptr<const limits::Set> before = set_of(flags.before);
  const std::shared_ptr<const limits::Set> after = set_of(flags.after);
  sim::FileDifference difference{before->file().name, after->file().name,
                                 limits::differences(before->file(), after->file()), nullptr};
  if (!flags.log.files.empty()) return diff_on_log(flags, before, after, difference);
  print(flags.log.json ? sim::json_of(difference) + "\n" : sim::text_of(difference, LogRun::colour()));
  if (!flags.log.html.empty()) write_file(flags.log.html, sim::page_of(difference));
  return difference.said.empty() ? 0 : 1;
}

}  // namespace

void add_diff(CLI::App& app, int& result) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App* diff_app =
      app.add_subcommand("diff", "Say what differs between two limits files; exit code 0 nothing, 1 some");
  diff_app->add_option("OLD", flags->before, "limits file")->type_name("FILE")->required();
  diff_app->add_option("NEW", flags->after, "limits file")->type_name("FILE")->required();
  diff_app->add_option("--log", flags->log.files, "access log: which requests would be decided otherwise?")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flags->log.add_output_to(*diff_app);
  const std::vector<CLI::Option*> without_log = diff_app->get_options();
  flags->log.add_names_to(*diff_app);
  diff_app->option_defaults()->group("Requests");
  flags->attributes.add_to(*diff_app);
  flags->log.add_reading_to(*diff_app);
  std::vector<const CLI::Option*> of_a_log;
  for (const CLI::Option* each : diff_app->get_options()) {
    if (std::find(without_log.begin(), without_log.end(), each) == without_log.end())
      of_a_log.push_back(each);
  }
  diff_app->callback([flags, of_a_log, &result] {
    for (const CLI::Option* each : of_a_log) {
      if (flags->log.files.empty() && each->count() > 0)
        throw std::runtime_error(each->get_name() + " requires --log (see weir diff --help)");
    }
    result = diff(*flags);
  });
}

}  // namespace weir::cli
