// weir top, weir ctl top: which keys are denied most, or charged most, at one or several servers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/option_table.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "cli/top_view.hpp"
#include "cli/top_watch.hpp"
#include "cli/values.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct TopFlags {
  ServerFlags server;
  TopWanted wanted;
  std::size_t count = 10;
  std::string every = "2s";
  bool once = false;
  bool json = false;
};

// 0: one has answered; 1: none, and one has refused; 2: none.
int show_once(const TopFlags& flags) {
  const std::vector<ServerTop> servers = ask_all(flags.server, flags.wanted);
  int result = 2;
  for (const ServerTop& each : servers) {
    result = std::min(result, each.wrong.empty() ? 0 : each.refused ? 1 : 2);
    if (each.wrong.empty()) continue;
    std::fprintf(stderr, "weir: %s: %s%s\n", core::printable(each.server).c_str(),
                 each.refused ? "refused: " : "", core::printable(each.wrong).c_str());
  }
  if (flags.json) {
    print(top_json(servers, flags.wanted.by, flags.count));
  } else if (result == 0) {
    print(top_text(servers, flags.count));
  }
  return result;
}

// By which signal it has ended; 0: as was asked.
int show_live(const TopFlags& flags) {
  const auto every = parse_time("every", flags.every, std::chrono::milliseconds{100});
  const char* const no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  TopView view(flags.wanted.by, flags.count, no_color == nullptr || *no_color == '\0');
  const std::size_t expected = flags.server.servers().size();
  Terminal terminal;
  TopWatch watch(flags.server, flags.wanted, every, [&terminal] { terminal.wake(); });
  while (true) {
    const Terminal::Size size = terminal.size();
    terminal.show(view.frame(watch.latest(), expected, size.columns, size.rows));
    const std::optional<std::string> typed = terminal.wait();
    if (!typed) return terminal.ended_by() == SIGINT ? 0 : terminal.ended_by();
    if (!view.typed(*typed)) return 0;
    watch.sort_by(view.by());
  }
}

int top(const TopFlags& flags) {
  if (flags.count < 1 || flags.count > 1024) throw std::runtime_error("count: expected 1 to 1024");
  if (flags.once || flags.json || !Terminal::is_there()) return show_once(flags);
  if (const int signal = show_live(flags); signal != 0) raise(signal);
  return 0;
}

// `live`: with what only the live view has.
void add_top_to(CLI::App& app, int& result, const char* what, bool live) {
  const auto flags = std::make_shared<TopFlags>();
  flags->once = !live;
  flags->count = live ? 1024 : 10;
  CLI::App* command = app.add_subcommand("top", what);
  command->add_option("--limit", flags->wanted.limit, "only of this limit")->type_name("NAME");
  take_only(*command->add_option("--by", flags->wanted.by, "what is counted")->capture_default_str(),
            {"denied", "cost"});
  command->add_option("--count", flags->count, "how many keys at most")
      ->type_name("N")
      ->capture_default_str();
  if (live) {
    command->add_option("--every", flags->every, "how often servers are asked")
        ->type_name("TIME")
        ->capture_default_str();
    command->add_flag("--once", flags->once, "print it once, as where there is no terminal");
  }
  command->add_flag("--json", flags->json, "print it once, as JSON");
  add_server_to(*command, flags->server, true);
  command->callback([flags, &result] { result = top(*flags); });
}

}  // namespace

void add_top(CLI::App& app, int& result) {
  add_top_to(app, result, "Watch which keys are denied most; d denied, c cost, / filter, q quit", true);
}

void add_ctl_top(CLI::App& ctl, int& result) {
  add_top_to(ctl, result, "Print which keys are denied most", false);
}

}  // namespace weir::cli
