// weir replay: what limits, or a whole file of them, would have done to the requests of a log.
#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "cli/attribute_flags.hpp"
#include "cli/commands.hpp"
#include "cli/log_flags.hpp"
#include "sim/file_replay.hpp"
#include "sim/replay.hpp"
#include "sim/warnings.hpp"

namespace weir::cli {
namespace {

struct Flags {
  LogFlags log;
  std::vector<std::string> limits;
  AttributeFlags file;
  std::size_t worst = 10;
};

int deliver(const LogRun& run, const LogFlags& flags, const sim::ReplayReport& report) {
  const sim::ReplayReport shown = sim::with_names(report, flags.naming());
  return run.deliver(sim::text_of(shown, LogRun::colour()), sim::json_of(shown), [&report, &flags] {
    return sim::page_of(sim::json_of(sim::with_names(report, flags.page_naming())));
  });
}

// The first of the report's limits is all of the file's together.
std::vector<sim::Tried> tried(const limits::File& file, const sim::ReplayReport& report) {
  std::vector<sim::Tried> all;
  for (std::size_t i = 0; i < file.limits.size(); ++i) {
    for (const limits::Window& each : file.limits[i].windows)
      all.push_back({each.rule, report.limits[i + 1].denied});
  }
  return all;
}

int replay_file(const Flags& flags) {
  if (flags.log.key != LogFlags{}.key)
    throw std::runtime_error("key: with --limits each limit says what it counts by");
  const std::shared_ptr<const limits::Set> set = set_of(flags.file.path);
  std::vector<std::string> attributes = sim::attributes_of(set->file());
  LogRun run(flags.log, flags.file.wanted(attributes));
  sim::FileReplay replay(set, std::move(attributes), flags.worst);
  run.read([&](std::span<const logs::Event> events) {
    for (const logs::Event& event : events) replay.take(event, run.reader().clients());
  });
  sim::LogReport log = run.report();
  log.key = replay.key();
  log.clients = replay.clients();
  sim::ReplayReport report = replay.report();
  log.warnings = sim::warnings_of(log, replay.some_names(), tried(set->file(), report));
  report.log = std::move(log);
  run.write_names([&replay] { return replay.names(); });
  return deliver(run, flags.log, report);
}

int replay(const Flags& flags) {
  if (flags.limits.empty() && flags.file.path.empty())
    throw std::runtime_error("--limit or --limits is required (see weir replay --help)");
  if (!flags.limits.empty() && !flags.file.path.empty())
    throw std::runtime_error("give --limit or --limits, not both");
  if (!flags.file.path.empty()) return replay_file(flags);
  if (!flags.file.fields.empty()) throw std::runtime_error("attribute: only --limits has attributes");
  std::vector<core::Rule> rules;
  for (const std::string& text : flags.limits) {
    const auto rule = core::Rule::parse(text);
    if (!rule) throw std::runtime_error("limit: " + rule.error());
    rules.push_back(*rule);
  }
  if (rules.size() > sim::Replay::kMostLimits) {
    throw std::runtime_error("limit: " + std::to_string(rules.size()) + " limits; the maximum is " +
                             std::to_string(sim::Replay::kMostLimits));
  }
  LogRun run(flags.log);
  sim::Replay replay(rules, flags.worst);
  run.read([&replay](std::span<const logs::Event> events) {
    for (const logs::Event& event : events) replay.take(event);
  });
  sim::LogReport log = run.report();
  const logs::Clients& clients = run.reader().clients();
  const std::size_t key_parts = run.reader().options().wanted.key.size();
  sim::ReplayReport report = replay.report(clients, key_parts);
  std::vector<sim::Tried> tried;
  for (std::size_t i = 0; i < rules.size(); ++i) tried.push_back({rules[i], report.limits[i].denied});
  log.warnings = sim::warnings_of(log, sim::some_names(clients, key_parts), tried);
  report.log = std::move(log);
  run.write_names([&] { return sim::names_of(clients, key_parts); });
  return deliver(run, flags.log, report);
}

}  // namespace

void add_replay(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* replay_app =
      app.add_subcommand("replay", "Try limits on an access log: which clients would be denied?");
  flags->log.add_to(*replay_app);
  flags->log.add_names_to(*replay_app);
  replay_app
      ->add_option("--limit", flags->limits,
                   "COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock]; up to 16")
      ->type_name("LIMIT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  replay_app
      ->add_option("--limits", flags->file.path, "limits file to try instead: all of its limits together")
      ->type_name("FILE");
  flags->file.add_to(*replay_app);
  replay_app->add_option("--worst", flags->worst, "how many of the worst clients to list, up to 1000")
      ->type_name("N")
      ->check(CLI::Range(0, 1000).description(""))
      ->capture_default_str();
  replay_app->callback([flags, &result] { result = replay(*flags); });
}

}  // namespace weir::cli
