// weir serve: turns flags, the configuration file and the environment into a running server.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/commands.hpp"
#include "cli/config_file.hpp"
#include "cli/serve_flags.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

void open_log(const std::string& level) {
  auto log = spdlog::stderr_color_mt(
      "weir", std::getenv("NO_COLOR") != nullptr ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  spdlog::set_default_logger(std::move(log));
  spdlog::set_level(spdlog::level::from_str(level));
}

int serve(const server::Settings& settings) {
  server::Server server(settings);
  std::string where;
  for (const std::string& address : server.addresses()) where += (where.empty() ? "" : ", ") + address;
  std::printf("weir %s listening on %s\n", WEIR_VERSION, where.c_str());
  const std::string& first = server.addresses().front();
  const std::size_t colon = first.rfind(':');
  const std::string to = colon == std::string::npos ? "-s " + first : "-p " + first.substr(colon + 1);
  std::printf("try: redis-cli %s CL.THROTTLE user:42 15 30 60\n", to.c_str());
  std::fflush(stdout);
  const bool saved = server.run();
  spdlog::info("stopped");
  return saved ? 0 : 2;
}

}  // namespace

void add_serve(CLI::App& app, int& result) {
  auto flags = std::make_shared<ServeFlags>();
  flags->settings.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* serve_app =
      app.add_subcommand("serve", "Answer Redis clients, counting in memory or in a shared Redis");
  add_serve_flags(*serve_app, *flags);
  serve_app->callback([flags, serve_app, &result] {
    const bool exposed = !flags->config.empty() && read_config(*serve_app, flags->config);
    const server::Settings settings = settings_from(*flags, *serve_app);
    open_log(flags->log_level);
    if (exposed)
      spdlog::warn("config: '{}' has a password in it, and every user of this machine may read it",
                   flags->config);
    result = serve(settings);
  });
}

}  // namespace weir::cli
