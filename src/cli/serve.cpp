// weir serve: turns flags, the configuration file and the environment into a running server.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "cli/commands.hpp"
#include "cli/config_file.hpp"
#include "cli/serve.hpp"
#include "cli/serve_flags.hpp"
#include "core/printable.hpp"
#include "core/system_time_zones.hpp"
#include "server/inherited_sockets.hpp"
#include "server/line_writer.hpp"
#include "server/log.hpp"
#include "server/server.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::cli {
namespace {

using server::LogLevel;

// What a reader of standard output or standard error may delay us by, at the start and at the end.
constexpr std::chrono::seconds kForReaders{1};

// Not gRPC: nothing that a machine has by default speaks it.
bool has_example(const std::string& address) { return !address.starts_with("grpc"); }
bool is_http(const std::string& address) { return address.starts_with("http"); }

// A command to try first.
std::string example(const std::string& address) {
  constexpr std::string_view kUnix = "http unix:";
  if (is_http(address)) {
    const bool by_path = address.starts_with(kUnix);
    return "curl --json '{\"key\":\"user:42\",\"limit\":\"30/min burst 16\"}' " +
           (by_path ? "--unix-socket " + address.substr(kUnix.size()) + " http://weir" : address) +
           "/v1/check";
  }
  const std::size_t colon = address.rfind(':');
  const std::string to = colon == std::string::npos ? "-s " + address : "-p " + address.substr(colon + 1);
  return "redis-cli " + to + " CL.THROTTLE user:42 15 30 60";
}

// RESP's addresses stand before those of HTTP; each has an example.
std::string first_lines(const std::vector<std::string>& addresses) {
  std::string where;
  for (const std::string& address : addresses) where += (where.empty() ? "" : ", ") + address;
  std::string lines = "weir " WEIR_VERSION " listening on " + core::printable(where) + "\n";
  if (!has_example(addresses.front())) return lines;
  lines += "try: " + core::printable(example(addresses.front())) + "\n";
  const auto http = std::find_if(addresses.begin() + 1, addresses.end(), is_http);
  if (http != addresses.end() && !is_http(addresses.front()))
    lines += "try: " + core::printable(example(*http)) + "\n";
  return lines;
}

// A rule as text may name any, and an event loop must not wait for a disk.
void read_time_zones() {
  try {
    (void)core::system_time_zones().names();
  } catch (const std::runtime_error&) {
    // A rule that names a zone is told so.
  }
}

int serve(const server::Settings& settings) {
  read_time_zones();
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

}  // namespace

int serve_and_log(const server::Settings& settings, bool json) {
  struct AtEnd {
    ~AtEnd() { server::flush_log(kForReaders); }
  } const at_end;
  try {
    return serve(settings);
  } catch (const server::EndedAtStart&) {
    server::log(LogLevel::info, "stopped");
    return 0;
  } catch (const std::exception& error) {
    if (!json) throw;
    server::log(LogLevel::error, error.what());
    return 2;
  }
}

int serve_local(const server::Settings& settings, const std::function<void()>& ready) {
  server::open_log({});
  read_time_zones();
  server::Server server(settings);
  ready();
  const bool saved = server.run();
  server::log(LogLevel::info, "stopped");
  server::flush_log(kForReaders);
  return saved ? 0 : 2;
}

void add_serve(CLI::App& app, int& result) {
  auto flags = std::make_shared<ServeFlags>();
  flags->settings.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* serve_app =
      app.add_subcommand("serve", "Answer Redis clients and HTTP, counting in memory or in a shared Redis");
  add_serve_flags(*serve_app, *flags);
  serve_app->callback([flags, serve_app, &result] {
    const bool exposed = !flags->config.empty() && read_config(*serve_app, flags->config);
    const server::Settings settings = server::with_inherited_sockets(
        settings_from(*flags, *serve_app),
        [serve_app](const std::string& flag) { return serve_app->count("--" + flag) > 0; });
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
