// The subcommands of `weir ctl`. Each function adds one; the one that the user names runs and sets the exit
// code.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

void add_ctl_hash(CLI::App& ctl, int& result);
void add_ctl_token(CLI::App& ctl, int& result);

}  // namespace weir::cli
