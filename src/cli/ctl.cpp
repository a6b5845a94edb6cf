// weir ctl: what operators do; each of its subcommands is a file.
#include "cli/ctl.hpp"

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace weir::inline v0_1::cli {

void add_ctl(CLI::App& app, int& result) {
  CLI::App* ctl = app.add_subcommand("ctl", "Operate a server: passwords and tokens of its users");
  ctl->require_subcommand(1);
  add_ctl_hash(*ctl, result);
  add_ctl_token(*ctl, result);
}

}  // namespace weir::cli
