// The subcommands. Each adds itself to the program and, when it was the one asked for, runs and sets the exit
// code.
#pragma once

namespace CLI {
class App;
}

namespace weir::cli {

void add_serve(CLI::App& app, int& result);
void add_check(CLI::App& app, int& result);
void add_replay(CLI::App& app, int& result);
void add_suggest(CLI::App& app, int& result);

}  // namespace weir::cli
