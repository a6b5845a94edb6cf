// weir serve: turns flags, the configuration file and the environment into a running server.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <thread>

#include "cli/commands.hpp"
#include "cli/config_file.hpp"
#include "cli/serve_flags.hpp"
#include "core/printable.hpp"
#include "server/line_writer.hpp"
#include "server/log.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

using server::LogLevel;

// What a reader of standard output or standard error may delay us by, at the start and at the end.
constexpr std::chrono::seconds kForReaders{1};

std::string first_lines(const std::vector<std::string>& addresses) {
  std::string where;
  for (const std::string& address : addresses) where += (where.empty() ? "" : ", ") + address;
  const std::string& first = addresses.front();
  const std::size_t colon = first.rfind(':');
  const std::string to = colon == std::string::npos ? "-s " + first : "-p " + first.substr(colon + 1);
  return "weir " WEIR_VERSION " listening on " + core::printable(where) + "\ntry: redis-cli " +
         core::printable(to) + " CL.THROTTLE user:42 15 30 60\n";
}

int serve(const server::Settings& settings) {
  server::Server server(settings);
  server::flush_log(kForReaders);  // what the start had to say comes first
  // Not by us: a reader that does not read would keep us from serving.
  server::LineWriter out(STDOUT_FILENO, [](std::uint64_t) { return std::string(); });
  out.write(first_lines(server.addresses()));
  const bool saved = server.run();
  server::log(LogLevel::info, "stopped");
  out.flush(kForReaders);
  return saved ? 0 : 2;
}

// Also when the start fails. In a log of JSON every line is one.
int serve_and_log(const server::Settings& settings, bool json) {
  struct AtEnd {
    ~AtEnd() { server::flush_log(kForReaders); }
  } const at_end;
  try {
    return serve(settings);
  } catch (const std::exception& error) {
    if (!json) throw;
    server::log(LogLevel::error, error.what());
    return 2;
  }
}

}  // namespace

void add_serve(CLI::App& app, int& result) {
  auto flags = std::make_shared<ServeFlags>();
  flags->settings.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* serve_app =
      app.add_subcommand("serve", "Answer Redis clients, counting in memory or in a shared Redis");
  add_serve_flags(*serve_app, *flags);
  serve_app->callback([flags, serve_app, &result] {
    std::signal(SIGHUP, SIG_IGN);  // until there is something to read again
    const bool exposed = !flags->config.empty() && read_config(*serve_app, flags->config);
    const server::Settings settings = settings_from(*flags, *serve_app);
    server::open_log({.level = flags->log_level, .json = flags->log_format == "json"});
    if (exposed) {
      server::log(
          LogLevel::warning,
          "config: '" + flags->config + "' has a password in it, and every user of this machine may read it");
    }
    result = serve_and_log(settings, flags->log_format == "json");
  });
}

}  // namespace weir::cli
