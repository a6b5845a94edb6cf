// weir ratelimit: in the place of envoyproxy/ratelimit, by its environment.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "cli/commands.hpp"
#include "cli/config_file.hpp"
#include "cli/ratelimit_variables.hpp"
#include "cli/serve.hpp"
#include "cli/serve_flags.hpp"
#include "server/log.hpp"

namespace weir::inline v0_1::cli {
namespace {

using server::LogLevel;

std::string table_of_variables() {
  std::string text = "Variables of the environment, which flags come before:\n";
  for (const RatelimitVariable& each : ratelimit_variables()) {
    text +=
        "  " + std::string(each.name) + std::string(each.name.size() < 40 ? 40 - each.name.size() : 1, ' ');
    for (const char c : each.sets.empty() ? std::string_view("does nothing") : each.sets)
      if (c != '`') text += c;
    text += "\n";
  }
  return text;
}

bool is_loopback(const server::ListenAddress& address) {
  const std::string& host = address.tcp.host;
  return !address.unix_socket.empty() || host.starts_with("127.") || host == "::1" || host == "localhost";
}

// What somebody has to know who comes from there.
void tell_what_is_open(const server::Settings& settings, const server::RatelimitPages& pages) {
  const bool open = std::any_of(settings.rls.begin(), settings.rls.end(),
                                [](const auto& each) { return !is_loopback(each); }) ||
                    !is_loopback(pages.health) || !is_loopback(pages.config) ||
                    (pages.metrics && !is_loopback(*pages.metrics));
  if (open)
    server::log(
        LogLevel::warning,
        "ratelimit: as envoyproxy/ratelimit it asks nobody for a password: all that reach its addresses may "
        "charge any key and read the limits");
  if (!settings.store)
    server::log(
        LogLevel::warning,
        "ratelimit: REDIS_URL is not set, so this process counts in its own memory: several replicas each "
        "let the whole limit through, and a restart forgets what was counted");
}

void run(ServeFlags& flags, CLI::App& app, int& result) {
  if (!flags.config.empty()) read_config(app, flags.config);
  flags.settings.insecure = true;  // by its nature, which is said once
  flags.settings.warn_of_reach = false;
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
  const std::vector<std::string> warnings = use_environment(app, flags, environment);
  const server::Settings settings = settings_from(flags, app);
  server::open_log({.level = flags.log_level, .json = flags.log_format == "json"});
  for (const std::string& each : warnings) server::log(LogLevel::warning, "ratelimit: " + each);
  if (settings.ratelimit) tell_what_is_open(settings, *settings.ratelimit);
  result = serve_and_log(settings, flags.log_format == "json");
}

}  // namespace

void add_ratelimit(CLI::App& app, int& result) {
  auto flags = std::make_shared<ServeFlags>();
  flags->settings.threads = std::max(1U, std::thread::hardware_concurrency());
  flags->resp.clear();
  CLI::App* ratelimit_app =
      app.add_subcommand("ratelimit", "Take the place of envoyproxy/ratelimit, by its environment");
  add_serve_flags(*ratelimit_app, *flags);
  for (CLI::Option* option : ratelimit_app->get_options()) option->envname("");
  ratelimit_app->footer(table_of_variables());
  ratelimit_app->callback([flags, ratelimit_app, &result] { run(*flags, *ratelimit_app, result); });
}

}  // namespace weir::cli
