// weir replay: what limits, or a whole file of them, would have done to the requests of a log.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>

#include "cli/attribute_flags.hpp"
#include "cli/commands.hpp"
#include "cli/decision_file.hpp"
#include "cli/growing_file.hpp"
#include "cli/log_flags.hpp"
#include "cli/plan_flags.hpp"
#include "cli/values.hpp"
#include "core/number.hpp"
#include "logs/first_parts.hpp"
#include "sim/client_table.hpp"
#include "sim/file_replay.hpp"
#include "sim/replay.hpp"
#include "sim/top_values.hpp"
#include "sim/warnings.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct ReplayFlags {
  LogFlags log;
  std::vector<std::string> limits;
  std::vector<std::string> in_flight;
  PlanFlags plans;
  AttributeFlags file;
  std::size_t worst = 10;
  std::string decisions;
  std::string clients;
};

// The files beside the report that have a line for each request, or for each client, and what the report
// tells of the fields of --top.
class Beside {
 public:
  Beside(const ReplayFlags& flags, LogRun& run, std::unique_ptr<DecisionFile> decisions,
         std::vector<std::string> limits)
      : flags_(flags), run_(run), decisions_(std::move(decisions)), tops_(flags.log.tops()) {
    if (!flags.clients.empty()) clients_.emplace(std::move(limits));
  }

  template <class... Decided>
  void decided(const Decided&... decided) {
    if (!decisions_) return;
    // A disk that is full ends this file, not the report.
    try {
      decisions_->add(decided...);
    } catch (const std::runtime_error& error) {
      run_.failed(error.what());
      decisions_.reset();
    }
  }
  void denied(std::uint64_t client, std::int64_t ns, std::uint32_t by) {
    if (clients_) clients_->add(client, ns, by);
  }
  void top(std::span<const std::string_view> values, std::uint32_t by) {
    if (!flags_.log.top.empty()) tops_.add(values, by);
  }

  void tell(std::vector<sim::LimitReport>& limits) const {
    if (flags_.log.top.empty()) return;
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i].top = tops_.of(i);
  }
  // What was interrupted is not all, and so not written. `name`: a client's, as the log has it.
  void finish(const std::function<std::string(std::uint64_t)>& name) {
    if (run_.interrupted()) return;
    if (decisions_) run_.attempt([this] { decisions_->finish(); });
    if (!clients_) return;
    run_.attempt([&] {
      write_file(flags_.clients, clients_->csv([&](std::uint64_t client) {
        return sim::called(name(client), client, flags_.log.naming());
      }),
                 kOwnerOnly);
    });
  }

 private:
  const ReplayFlags& flags_;
  LogRun& run_;
  std::unique_ptr<DecisionFile> decisions_;
  std::optional<sim::ClientTable> clients_;
  sim::TopValues tops_;
};

// What --follow shows of a report that is not final.
void show_while_following(LogRun& run, const LogFlags& flags, std::function<sim::ReplayReport()> report) {
  run.while_following([&flags, report = std::move(report)] {
    try {
      return sim::text_of(sim::with_names(report(), flags.naming()), LogRun::colour());
    } catch (const std::runtime_error& nothing_yet) {
      return std::string(nothing_yet.what()) + "\n";
    }
  });
}

int deliver(LogRun& run, const LogFlags& flags, const sim::ReplayReport& report) {
  const sim::ReplayReport shown = sim::with_names(report, flags.naming());
  return run.deliver(sim::text_of(shown, LogRun::colour()), sim::json_of(shown), [&report, &flags] {
    return sim::page_of(sim::with_names(report, flags.page_naming()));
  });
}

// The first of the report's limits is all of the file's together.
std::vector<sim::TriedRule> tried(const limits::File& file, const sim::ReplayReport& report) {
  std::vector<sim::TriedRule> all;
  for (std::size_t i = 0; i < file.limits.size(); ++i) {
    for (const limits::Window& each : file.limits[i].windows)
      if (!each.is_slots()) all.push_back({each.rule, report.limits[i + 1].denied});
  }
  return all;
}

logs::FirstParts parts_of(LogRun& run) {
  return {run.reader().clients(), run.reader().options().wanted.key.size(), run.key_parts()};
}

bool has_slots(const limits::File& file) {
  return std::any_of(file.limits.begin(), file.limits.end(),
                     [](const limits::NamedLimit& limit) { return limit.slots.place.line != 0; });
}

int replay_file(ReplayFlags flags) {
  if (flags.log.key != LogFlags{}.key)
    throw std::runtime_error("key: with --limits each limit says what it counts by");
  const std::shared_ptr<const limits::Set> set = set_of(flags.file.path);
  flags.log.in_flight = has_slots(set->file());
  if (flags.log.in_flight && !flags.log.cost.empty())
    throw std::runtime_error(
        "cost: not with limits that have in_flight, for which each request says how long it took");
  std::vector<std::string> attributes = limits::attributes_of(set->file());
  LogRun run(flags.log, flags.file.wanted(attributes));
  sim::FileReplay replay(set, std::move(attributes), flags.worst, flags.log.cost.empty(),
                         flags.log.in_flight);
  std::unique_ptr<DecisionFile> decisions;
  if (!flags.decisions.empty()) decisions = std::make_unique<DecisionFile>(flags.log, flags.decisions);
  Beside beside(flags, run, std::move(decisions), {});
  const logs::ClientIndex& combinations = run.reader().clients();
  const logs::FirstParts parts = parts_of(run);
  const auto so_far = [&] {
    sim::LogReport log = run.report();
    log.key = replay.key();
    log.clients = replay.clients();
    sim::ReplayReport report = replay.report();
    log.warnings = sim::warnings_of(log, replay.some_names(), tried(set->file(), report));
    std::vector<sim::LimitReport> together(1);
    beside.tell(together);
    report.limits[0].top = std::move(together[0].top);
    report.log = std::move(log);
    return report;
  };
  show_while_following(run, flags.log, so_far);
  run.read([&](std::span<const logs::Event> events) {
    for (const logs::Event& read : events) {
      logs::Event event = read;
      const sim::FileReplay::Taken taken = replay.take(event, combinations);
      if (flags.log.in_flight) event.cost = 1;  // it was when the request ended
      beside.decided(event, taken);
      if (taken.error) continue;
      beside.denied(taken.client_number, event.ns, taken.allowed ? 0 : 1);
      beside.top(parts.rest(event.client), taken.allowed ? 0 : 1);
    }
  });
  const sim::ReplayReport report = so_far();
  beside.finish([&replay](std::uint64_t client) { return replay.name(client); });
  run.write_names([&replay] { return replay.names(); });
  return deliver(run, flags.log, report);
}

void refuse_too_many(const std::string& flag, std::size_t limits) {
  if (limits <= sim::Replay::kMostLimits) return;
  throw std::runtime_error(flag + ": " + std::to_string(limits) + " limits; the maximum is " +
                           std::to_string(sim::Replay::kMostLimits));
}

std::vector<core::Rule> rules_of(const std::vector<std::string>& limits) {
  std::vector<core::Rule> rules;
  refuse_too_many("limit", limits.size());
  for (const std::string& text : limits) rules.push_back(parse_rule("limit", text));
  return rules;
}

std::vector<sim::Replay::InFlight> slots_of(const std::vector<std::string>& numbers) {
  std::vector<sim::Replay::InFlight> slots;
  refuse_too_many("in-flight", numbers.size());
  for (const std::string& text : numbers) {
    const std::uint32_t most = core::number_in<std::uint32_t>(text).value_or(0);
    if (most == 0)
      throw std::runtime_error("in-flight: '" + text + "' is not a whole number from 1 to 4294967295");
    slots.push_back({most});
  }
  return slots;
}

// Runs a replay and reports it. `plans` or nothing: then all of the limits are of every client.
int replay_with(const ReplayFlags& flags, LogRun& run, logs::FirstParts& parts, sim::Replay& replay,
                const std::vector<core::Rule>& rules, const Plans* plans) {
  const logs::ClientIndex& clients = parts.clients();
  const std::size_t key_parts = run.key_parts();
  std::unique_ptr<DecisionFile> decisions;
  if (!flags.decisions.empty())
    decisions = std::make_unique<DecisionFile>(flags.log, flags.decisions, replay.answered());
  Beside beside(flags, run, std::move(decisions), replay.answered());
  const auto so_far = [&] {
    sim::LogReport log = run.report();
    log.clients = clients.count();
    sim::ReplayReport report = replay.report(clients, key_parts);
    beside.tell(report.limits);
    std::vector<sim::TriedRule> tried;
    for (std::size_t i = 0; i < rules.size(); ++i)
      tried.push_back({rules[i], report.limits[i + (plans != nullptr ? 1 : 0)].denied});
    log.warnings = sim::warnings_of(log, sim::some_names(clients, key_parts), tried);
    if (plans != nullptr && !plans->about_others().empty()) log.warnings.push_back(plans->about_others());
    report.log = std::move(log);
    return report;
  };
  show_while_following(run, flags.log, so_far);
  run.read([&](std::span<const logs::Event> events) {
    for (const logs::Event& read : events) {
      logs::Event event = read;
      event.client = parts.client_of(read.client);
      const std::uint32_t denied = replay.take(event);
      if (flags.log.in_flight) event.cost = 1;  // it was when the request ended
      beside.decided(event, clients, key_parts, replay.answers());
      beside.denied(event.client, event.ns, denied);
      if (!flags.log.top.empty()) beside.top(parts.rest(read.client), denied);
    }
  });
  const sim::ReplayReport report = so_far();
  beside.finish([&](std::uint64_t client) {
    return logs::shown(clients.name(static_cast<std::uint32_t>(client)), key_parts);
  });
  run.write_names([&] { return sim::names_of(clients, key_parts); });
  return deliver(run, flags.log, report);
}

int replay_plans(const ReplayFlags& flags) {
  LogRun run(flags.log);
  logs::FirstParts parts = parts_of(run);
  Plans plans(flags.plans, flags.limits, parts.clients(), run.key_parts());
  std::vector<core::Rule> rules;
  for (const sim::Replay::Plan& each : plans.all()) rules.push_back(each.rule);
  sim::Replay replay(
      plans.name(), plans.all(), [&plans](std::uint32_t client) { return plans.of(client); }, flags.worst);
  return replay_with(flags, run, parts, replay, rules, &plans);
}

int replay_slots(const ReplayFlags& flags) {
  const std::vector<sim::Replay::InFlight> slots = slots_of(flags.in_flight);
  LogRun run(flags.log);
  logs::FirstParts parts = parts_of(run);
  sim::Replay replay(slots, flags.worst);
  return replay_with(flags, run, parts, replay, {}, nullptr);
}

int replay(ReplayFlags flags) {
  flags.log.report_to_stderr = flags.decisions == "-";
  flags.log.refuse_the_log("clients", flags.clients);
  flags.log.in_flight = !flags.in_flight.empty();
  const int kinds =
      (flags.limits.empty() ? 0 : 1) + (flags.file.path.empty() ? 0 : 1) + (flags.log.in_flight ? 1 : 0);
  if (kinds == 0)
    throw std::runtime_error("--limit, --limits or --in-flight is required (see weir replay --help)");
  if (kinds > 1) throw std::runtime_error("give one of --limit, --limits and --in-flight");
  if (flags.log.in_flight && flags.plans.any())
    throw std::runtime_error("in-flight: not with --limit-by or --plans");
  if (!flags.plans.field.empty() && !flags.plans.file.empty())
    throw std::runtime_error("give --limit-by or --plans, not both");
  if (flags.plans.any() && !flags.file.path.empty())
    throw std::runtime_error("limit-by: a limits file names its own attributes");
  if (!flags.file.path.empty()) return replay_file(flags);
  if (!flags.file.fields.empty()) throw std::runtime_error("attribute: only --limits has attributes");
  if (flags.log.in_flight) return replay_slots(flags);
  if (!flags.plans.field.empty()) flags.log.key += "," + flags.plans.field;
  if (flags.plans.any()) return replay_plans(flags);
  const std::vector<core::Rule> rules = rules_of(flags.limits);
  LogRun run(flags.log);
  logs::FirstParts parts = parts_of(run);
  sim::Replay replay(rules, flags.worst);
  return replay_with(flags, run, parts, replay, rules, nullptr);
}

}  // namespace

void add_replay(CLI::App& app, int& result) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* replay_app =
      app.add_subcommand("replay", "Try limits on an access log: which clients would be denied?");
  replay_app->option_defaults()->group("Limits");
  replay_app
      ->add_option("--limit", flags->limits,
                   "COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock]; up to 16")
      ->type_name("LIMIT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  replay_app
      ->add_option("--limits", flags->file.path, "limits file to try instead: all of its limits together")
      ->type_name("FILE");
  replay_app
      ->add_option("--in-flight", flags->in_flight,
                   "how many requests of a client may be under way at once; up to 16")
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flags->file.add_to(*replay_app);
  flags->plans.add_to(*replay_app);
  flags->log.add_to(*replay_app);
  flags->log.add_duration_to(*replay_app);
  flags->log.add_names_to(*replay_app);
  replay_app
      ->add_option("--decisions", flags->decisions,
                   "also write a line for each request: CSV, or JSON lines as .jsonl")
      ->type_name("FILE");
  replay_app
      ->add_option("--clients", flags->clients, "also write a line of CSV for each client, denied or not")
      ->type_name("FILE");
  replay_app
      ->add_option("--top", flags->log.top,
                   "fields of which to list the values denied most, as in path,agent")
      ->type_name("FIELDS");
  replay_app->add_option("--worst", flags->worst, "how many of the worst clients to list, up to 1000")
      ->type_name("N")
      ->check(CLI::Range(0, 1000).description(""))
      ->capture_default_str();
  replay_app
      ->add_flag("--follow", flags->log.follow,
                 "read on as the log grows; show the report meanwhile; Ctrl-C ends")
      ->group("Log");
  replay_app->callback([flags, replay_app, &result] {
    // The report lags by what may still be sorted.
    if (flags->log.follow && replay_app->count("--reorder") == 0) flags->log.reorder = "5s";
    result = replay(*flags);
  });
}

}  // namespace weir::cli
