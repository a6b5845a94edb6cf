// The weir program: one subcommand, one file.
//
// Exit codes: 0 done (check: allowed), 1 check: denied, 2 anything wrong.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"

namespace {

bool known(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands([&word](const CLI::App* each) { return each->check_name(word); });
  return !commands.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Rate limiting and throttling on GCRA (the generic cell rate algorithm).", "weir"};
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("weir: ") + error.what() + " (weir --help lists what is allowed)\n";
  });
  // A full disk or a closed pipe is answered where it happens; by default the first would end the program.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  int result = 2;
  weir::cli::add_serve(app, result);
  weir::cli::add_check(app, result);
  weir::cli::add_replay(app, result);
  weir::cli::add_suggest(app, result);
  try {
    if (argc > 1 && argv[1][0] != '-' && !known(app, argv[1])) {
      throw std::runtime_error("'" + std::string(argv[1]) +
                               "' is not a command; there are serve, check, replay and suggest");
    }
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
