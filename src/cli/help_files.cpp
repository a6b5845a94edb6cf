// weir completion and weir manual: write what installs beside the program, from its own table of options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/option_table.hpp"
#include "cli/print.hpp"

namespace weir::inline v0_1::cli {
namespace {

const CLI::App& command_named(const CLI::App& app, const std::string& name) {
  if (name.empty()) return app;
  const auto found = app.get_subcommands([&name](const CLI::App* each) { return each->check_name(name); });
  if (found.empty()) throw std::runtime_error("manual: unknown command '" + name + "'");
  return *found.front();
}

}  // namespace

void add_completion(CLI::App& app, int& result) {
  static const std::map<std::string, std::function<std::string(const CLI::App&)>> kScripts{
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print what a shell needs to complete weir's commands");
  take_only(*command->add_option("shell", *shell, "the shell")->required(), {"bash", "fish", "zsh"});
  command->callback([&app, &result, shell] {
    print(kScripts.at(*shell)(app));
    result = 0;
  });
}

// For packages, not for people: --help does not list it.
void add_manual(CLI::App& app, int& result) {
  auto name = std::make_shared<std::string>();
  auto date = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("manual", "Print the source of a manual page")->group("");
  command->add_option("command", *name, "the command; without one, the whole program");
  command->add_option("--date", *date, "the date that the page shows");
  command->callback([&app, &result, name, date] {
    print(manual_page(app, command_named(app, *name), *date));
    result = 0;
  });
}

}  // namespace weir::cli
