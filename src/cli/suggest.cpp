// weir suggest: the smallest limits that would have denied at most a given share of a log.
#include "sim/suggest.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <unordered_set>

#include "cli/commands.hpp"
#include "cli/log_flags.hpp"
#include "cli/values.hpp"
#include "core/address.hpp"
#include "core/number.hpp"
#include "core/regular_file.hpp"
#include "sim/suggest_limits.hpp"
#include "sim/suggest_slots.hpp"
#include "sim/warnings.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct SuggestFlags {
  LogFlags log;
  std::string deny_clients;
  std::string deny_requests;
  std::string good;
  std::string bad;
  std::string today;
  bool as_limits = false;
};

// "0.1%" or "0.001".
double parse_share(const char* flag, std::string_view text) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value, std::chars_format::fixed);
  if (percent) value /= 100;
  // Written as a negation so that NaN is refused too.
  if (error != std::errc{} || rest != end || !(value >= 0 && value <= 1)) {
    throw std::runtime_error(std::string(flag) + ": '" + std::string(text) +
                             "' is not a share from 0% to 100%, as in 0.1% or 0.001");
  }
  return value;
}

// "5" is a count, where "0.1%" and "0.001" are shares; 0 is both.
std::optional<std::uint64_t> parse_count(std::string_view text) {
  const auto count = core::number_in<std::uint64_t>(text);
  return count == 0 ? std::nullopt : count;
}

// One client a line, spelled as reports show the key; empty lines and # comments are skipped.
std::unordered_set<std::string> read_clients(const std::string& flag, const std::string& path) {
  const auto read = core::read_regular_file(path);
  if (!read) throw std::runtime_error(flag + ": cannot open '" + path + "': " + read.error());
  std::istringstream file(*read);
  std::unordered_set<std::string> names;
  std::string line;
  while (std::getline(file, line)) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    std::string name;
    core::append_address(line, {}, name);
    names.insert(name);
  }
  if (names.empty()) throw std::runtime_error(flag + ": '" + path + "' contains no clients");
  return names;
}

// The events of a log, those of clients that are known to be bad apart: what a limit denies them is its
// purpose.
class Events {
 public:
  Events(const SuggestFlags& flags, LogRun& run)
      : clients_(run.reader().clients()), parts_(run.reader().options().wanted.key.size()) {
    if (!flags.bad.empty()) bad_names_ = read_clients("bad", flags.bad);
  }

  void add(std::span<const logs::Event> some) {
    if (bad_names_.empty()) {
      others.add(some);
      requests += some.size();
      return;
    }
    for (const logs::Event& event : some) {
      const bool one = is_bad(event.client);
      requests += one ? 0 : 1;
      (one ? bad : others).add({&event, 1});
    }
  }
  bool is_bad(std::uint32_t client) {
    if (bad_names_.empty()) return false;
    for (; known_.size() <= client; known_.push_back(bad_names_.contains(
             logs::shown(clients_.name(static_cast<std::uint32_t>(known_.size())), parts_)))) {
    }
    return known_[client];
  }

  sim::EventSpool others;
  sim::EventSpool bad;
  std::uint64_t requests = 0;  // of the others

 private:
  const logs::ClientIndex& clients_;
  std::size_t parts_;
  std::unordered_set<std::string> bad_names_;
  std::vector<bool> known_;  // of each client so far, whether it is a bad one
};

// What may be denied, in numbers of this log.
sim::Criterion criterion_of(const SuggestFlags& flags, sim::SuggestReport& report,
                            const logs::ClientIndex& clients, std::size_t key_parts) {
  sim::Criterion criterion;
  if (report.count_of_clients) {
    criterion.most = *report.count_of_clients;
    report.clients_that_may_be_denied = criterion.most;
  } else if (report.deny_clients) {
    criterion.most =
        static_cast<std::uint64_t>(std::floor(*report.deny_clients * static_cast<double>(report.clients)));
    report.clients_that_may_be_denied = criterion.most;
  } else if (report.deny_requests) {
    criterion.kind = sim::Criterion::Kind::requests;
    criterion.most =
        static_cast<std::uint64_t>(std::floor(*report.deny_requests * static_cast<double>(report.requests)));
  } else {
    const std::unordered_set<std::string> good = read_clients("good", flags.good);
    criterion.kind = sim::Criterion::Kind::good;
    criterion.good.resize(clients.count());
    std::uint64_t found = 0;
    for (std::uint32_t client = 0; client < clients.count(); ++client) {
      const bool one = good.contains(logs::shown(clients.name(client), key_parts));
      criterion.good[client] = one;
      found += one ? 1 : 0;
    }
    report.good_clients = found;
    if (found == 0)
      throw std::runtime_error("good: none of the clients in '" + flags.good + "' is in the log");
    if (found < good.size()) {
      std::fprintf(stderr, "weir: %zu of %zu good clients are not in the log\n",
                   good.size() - static_cast<std::size_t>(found), good.size());
    }
  }
  return criterion;
}

// What a reader has to know before any number.
std::vector<std::string> warnings_of(const LogRun& run, const sim::SuggestReport& report,
                                     const logs::ClientIndex& clients) {
  std::vector<sim::TriedRule> tried;
  for (const sim::Suggestion& each : report.suggestions)
    tried.push_back({core::Rule::parse(each.rounded.limit).value(), each.rounded.denied});
  return sim::warnings_of(report.log, sim::some_names(clients, run.key_parts()), tried);
}

int suggest_slots(const SuggestFlags& flags, sim::SuggestReport& report, bool any_criterion) {
  if (flags.as_limits) throw std::runtime_error("as-limits: not with --in-flight");
  if (!flags.today.empty()) throw std::runtime_error("today: a rate is not compared with slots");
  if (!flags.bad.empty()) throw std::runtime_error("bad: not with --in-flight; --where leaves requests out");
  LogRun run(flags.log);
  sim::SuggestSlots slots;
  run.read([&slots](std::span<const logs::Event> some) {
    for (const logs::Event& event : some) slots.take(event);
  });
  const logs::ClientIndex& clients = run.reader().clients();
  report.log = run.report();
  report.requests = report.log.stats.requests;
  report.clients = clients.count();
  std::optional<sim::Criterion> criterion;
  if (any_criterion) criterion = criterion_of(flags, report, clients, run.key_parts());
  slots.fill(report, criterion ? &*criterion : nullptr,
             [&](std::uint32_t client) { return logs::shown(clients.name(client), run.key_parts()); });
  report.log.warnings = warnings_of(run, report, clients);
  return run.deliver(sim::text_of(report, LogRun::colour()), sim::json_of(report),
                     [&report] { return sim::page_of(report); });
}

int suggest(const SuggestFlags& flags) {
  const int criteria = (flags.deny_clients.empty() ? 0 : 1) + (flags.deny_requests.empty() ? 0 : 1) +
                       (flags.good.empty() ? 0 : 1);
  if (flags.as_limits && (flags.log.json || !flags.log.html.empty()))
    throw std::runtime_error("as-limits: the answer is either a piece of a limits file or JSON or a page");
  if (flags.log.in_flight ? criteria > 1 : criteria != 1) {
    throw std::runtime_error("give exactly one of --deny-clients, --deny-requests and --good");
  }
  sim::SuggestReport report;
  report.count_of_clients = parse_count(flags.deny_clients);
  if (!flags.deny_clients.empty() && !report.count_of_clients)
    report.deny_clients = parse_share("deny-clients", flags.deny_clients);
  if (!flags.deny_requests.empty()) report.deny_requests = parse_share("deny-requests", flags.deny_requests);
  if (!flags.good.empty()) read_clients("good", flags.good);  // says at once what is wrong with it
  if (flags.log.in_flight) return suggest_slots(flags, report, criteria == 1);

  std::vector<core::Rule> today;
  if (!flags.today.empty()) {
    today.push_back(parse_rule("today", flags.today));
  }

  LogRun run(flags.log);
  Events events(flags, run);
  run.read([&events](std::span<const logs::Event> some) { events.add(some); });
  report.log = run.report();

  const logs::ClientIndex& clients = run.reader().clients();
  std::uint64_t bad = 0;
  for (std::uint32_t client = 0; client < clients.count(); ++client) bad += events.is_bad(client) ? 1 : 0;
  report.requests = events.requests;
  report.clients = clients.count() - bad;
  if (!flags.bad.empty()) {
    if (bad == 0) throw std::runtime_error("bad: none of the clients in '" + flags.bad + "' is in the log");
    if (report.clients == 0)
      throw std::runtime_error("bad: all clients of the log are in '" + flags.bad + "'");
    report.bad_clients = bad;
  }
  sim::Criterion criterion = criterion_of(flags, report, clients, run.reader().options().wanted.key.size());
  sim::Suggest(events.others, clients.count(), std::move(criterion)).run(report, today);
  if (bad > 0) sim::Suggest::try_on_bad(events.bad, report);
  const logs::Wanted& wanted = run.reader().options().wanted;
  report.log.warnings = warnings_of(run, report, clients);
  const std::string text =
      flags.as_limits ? sim::limits_of(report, wanted) : sim::text_of(report, LogRun::colour());
  return run.deliver(text, sim::json_of(report), [&report] { return sim::page_of(report); });
}

}  // namespace

void add_suggest(CLI::App& app, int& result) {
  auto flags = std::make_shared<SuggestFlags>();
  CLI::App* suggest_app =
      app.add_subcommand("suggest", "Find the smallest limits that deny at most a share of an access log");
  suggest_app->option_defaults()->group("Limits");
  suggest_app
      ->add_option("--deny-clients", flags->deny_clients,
                   "clients that may be denied: a share, as in 0.1%, or a number, as in 5")
      ->type_name("SHARE|N");
  suggest_app->add_option("--deny-requests", flags->deny_requests, "share of the requests that may be denied")
      ->type_name("SHARE");
  suggest_app->add_option("--good", flags->good, "file of clients, one a line, none of which may be denied")
      ->type_name("FILE");
  suggest_app
      ->add_option("--bad", flags->bad,
                   "file of clients, one a line, that should be denied: they count apart")
      ->type_name("FILE");
  suggest_app->add_option("--today", flags->today, "the limit that there is, to compare with")
      ->type_name("LIMIT");
  suggest_app->add_flag("--in-flight", flags->log.in_flight,
                        "how many requests at once to allow, and no rate; needs no criterion");
  flags->log.add_to(*suggest_app);
  flags->log.add_duration_to(*suggest_app);
  suggest_app->add_flag("--as-limits", flags->as_limits, "print a piece of a limits file");
  suggest_app->callback([flags, &result] { result = suggest(*flags); });
}

}  // namespace weir::cli
