// The weir program: one subcommand, one file.
//
// Exit codes: 0 done (check: allowed), 1 check: denied, 2 anything wrong.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Rate limiting and throttling on GCRA (the generic cell rate algorithm).", "weir"};
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("weir: ") + error.what() + " (weir --help lists what is allowed)\n";
  });
  int result = 2;
  weir::cli::add_serve(app, result);
  weir::cli::add_check(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir: %s\n", error.what());
    return 2;
  }
  return result;
}
