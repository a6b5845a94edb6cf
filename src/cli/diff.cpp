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

namespace weir::inline v0_1::cli {
namespace {

struct Flags {
  std::string before;
  std::string after;
  LogFlags log;
  AttributeFlags attributes;
  std::string html;
  bool json = false;
};

std::unique_ptr<const sim::ComparisonReport> compare(const Flags& flags,
                                                     const std::shared_ptr<const limits::Set>& before,
                                                     const std::shared_ptr<const limits::Set>& after) {
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
  run.report();  // throws when nothing could be read
  run.write_names([&comparison] { return comparison.names(); });
  return std::make_unique<const sim::ComparisonReport>(comparison.report());
}

int diff(const Flags& flags) {
  const std::shared_ptr<const limits::Set> before = set_of(flags.before);
  const std::shared_ptr<const limits::Set> after = set_of(flags.after);
  sim::FileDifference difference{before->file().name, after->file().name,
                                 limits::differences(before->file(), after->file()), nullptr};
  if (!flags.log.files.empty()) difference.log = compare(flags, before, after);
  if (difference.log) {
    const sim::ComparisonReport log = *difference.log;
    if (!flags.html.empty()) {
      difference.log =
          std::make_unique<const sim::ComparisonReport>(sim::with_names(log, flags.log.page_naming()));
      write_file(flags.html, sim::page_of(difference));
    }
    difference.log = std::make_unique<const sim::ComparisonReport>(sim::with_names(log, flags.log.naming()));
  } else if (!flags.html.empty()) {
    write_file(flags.html, sim::page_of(difference));
  }
  print(flags.json ? sim::json_of(difference) + "\n" : sim::text_of(difference));
  return difference.said.empty() ? 0 : 1;
}

}  // namespace

void add_diff(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* diff_app =
      app.add_subcommand("diff", "Say what differs between two limits files; exit code 0 nothing, 1 some");
  diff_app->add_option("OLD", flags->before, "limits file")->type_name("FILE")->required();
  diff_app->add_option("NEW", flags->after, "limits file")->type_name("FILE")->required();
  diff_app->add_option("--log", flags->log.files, "access log: which requests would be decided otherwise?")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flags->attributes.add_to(*diff_app);
  diff_app
      ->add_option("--cost", flags->log.cost, "field of the log that holds the cost of a request [1 each]")
      ->type_name("FIELD");
  flags->log.add_names_to(*diff_app);
  diff_app->add_flag("--json", flags->json, "print one JSON object");
  diff_app->add_option("--html", flags->html, "also write a page with the tables to this file")
      ->type_name("FILE");
  diff_app->callback([flags, &result] { result = diff(*flags); });
}

}  // namespace weir::cli
