// weir ctl audit: the last lines of a server's audit.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/print.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct LastLinesFlags {
  ServerFlags server;
  std::string count = "10";
  bool json = false;
};

std::string last_lines(const LastLinesFlags& flags) {
  std::string out;
  for (const CtlAnswer& line : ask(flags.server, {"WEIR.AUDIT", "COUNT", flags.count}).items)
    out += core::printable(line.text) + "\n";
  return out;
}

}  // namespace

void add_ctl_audit(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<LastLinesFlags>();
  CLI::App* app =
      ctl.add_subcommand("audit", "Print the last changes, the newest first, a line of JSON each");
  app->add_option("--count", flags->count, "how many, at most 1024")->type_name("N")->capture_default_str();
  app->add_flag("--json", flags->json, "as without it");
  add_server_to(*app, flags->server, false);
  app->callback([flags, &result] { result = run_for_operator([&] { print(last_lines(*flags)); }); });
}

}  // namespace weir::cli
