// The subcommands of `weir ctl`. Each function adds one; the one that the user names runs and sets the exit
// code: 0 done, 1 the server has refused, 2 anything else.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

void add_ctl_top(CLI::App& ctl, int& result);
void add_ctl_usage(CLI::App& ctl, int& result);
void add_ctl_ban(CLI::App& ctl, int& result);
void add_ctl_unban(CLI::App& ctl, int& result);
void add_ctl_raise(CLI::App& ctl, int& result);
void add_ctl_lower(CLI::App& ctl, int& result);
void add_ctl_shadow(CLI::App& ctl, int& result);
void add_ctl_lift(CLI::App& ctl, int& result);
void add_ctl_overrides(CLI::App& ctl, int& result);
void add_ctl_export(CLI::App& ctl, int& result);
void add_ctl_audit(CLI::App& ctl, int& result);
void add_ctl_hash(CLI::App& ctl, int& result);
void add_ctl_token(CLI::App& ctl, int& result);

}  // namespace weir::cli
