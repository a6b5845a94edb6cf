// weir ctl: what operators do; each of its subcommands is a file.
#include "cli/ctl.hpp"

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace weir::inline v0_1::cli {

void add_ctl(CLI::App& app, int& result) {
  CLI::App* ctl = app.add_subcommand("ctl", "Operate a server: denials, usage, bans, other numbers, users");
  ctl->require_subcommand(1);
  add_ctl_top(*ctl, result);
  add_ctl_usage(*ctl, result);
  add_ctl_ban(*ctl, result);
  add_ctl_unban(*ctl, result);
  add_ctl_raise(*ctl, result);
  add_ctl_lower(*ctl, result);
  add_ctl_shadow(*ctl, result);
  add_ctl_lift(*ctl, result);
  add_ctl_overrides(*ctl, result);
  add_ctl_export(*ctl, result);
  add_ctl_audit(*ctl, result);
  add_ctl_hash(*ctl, result);
  add_ctl_token(*ctl, result);
}

}  // namespace weir::cli
