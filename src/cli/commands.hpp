// The subcommands. Each function adds its subcommand to the program; the subcommand that the user names runs
// and sets the exit code.
#pragma once

namespace CLI {
class App;
}

namespace weir::inline v0_1::cli {

void add_serve(CLI::App& app, int& result);
void add_local(CLI::App& app, int& result);
void add_ratelimit(CLI::App& app, int& result);
void add_check(CLI::App& app, int& result);
void add_ctl(CLI::App& app, int& result);
void add_store_check(CLI::App& app, int& result);
void add_replay(CLI::App& app, int& result);
void add_suggest(CLI::App& app, int& result);
void add_formats(CLI::App& app, int& result);
void add_lint(CLI::App& app, int& result);
void add_test(CLI::App& app, int& result);
void add_explain(CLI::App& app, int& result);
void add_diff(CLI::App& app, int& result);
void add_audit(CLI::App& app, int& result);
// These two write what the whole program's table of options says: added last.
void add_completion(CLI::App& app, int& result);
void add_manual(CLI::App& app, int& result);

}  // namespace weir::cli
