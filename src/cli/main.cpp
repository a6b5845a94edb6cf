// The weir program; each subcommand is a file.
//
// Exit codes: 0 done (check: allowed), 1 denied (check only), 2 any error.
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
  CLI::App app{"Rate limiting by GCRA, the generic cell rate algorithm.", "weir"};
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* root, const CLI::Error& error) {
    const auto used = root->get_subcommands();
    const std::string command = used.empty() ? "weir" : "weir " + used.front()->get_name();
    return std::string("weir: ") + error.what() + " (see " + command + " --help)\n";
  });
  // A full disk or a closed pipe is reported where the write fails; by default its signal would end the
  // program.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  int result = 2;
  weir::cli::add_serve(app, result);
  weir::cli::add_check(app, result);
  weir::cli::add_replay(app, result);
  weir::cli::add_suggest(app, result);
  try {
    if (argc > 1 && argv[1][0] != '-' && !known(app, argv[1])) {
      throw std::runtime_error("unknown command '" + std::string(argv[1]) +
                               "'; known: serve, check, replay, suggest");
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
