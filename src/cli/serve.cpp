// weir serve: from flags, file and environment to a running server.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "cli/commands.hpp"
#include "core/duration.hpp"
#include "resp/number.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

using server::Settings;

struct Flags {
  std::vector<std::string> resp = {"127.0.0.1:6390"};
  std::string memory = "64MiB";
  std::string when_full = "deny";
  std::string snapshot_every = "60s";
  std::string stall_timeout = "30s";
  std::string log_level = "info";
  std::string config;
  std::string store;
  std::string on_store_error = "local";
  std::string store_deadline = "50ms";
  std::string local_share = "100%";
  bool no_remember_denials = false;
  bool merge = false;
  Settings settings;
};

server::Endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : resp::parse_integer(std::string_view(text).substr(colon + 1));
  if (!port || *port < 0 || *port > 65535 || colon == 0) {
    throw std::runtime_error("resp: '" + text +
                             "' is not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:6390");
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, static_cast<std::uint16_t>(*port)};
}

std::size_t parse_bytes(const std::string& text) {
  const std::size_t unit_at = text.find_first_not_of("0123456789");
  const std::string unit = unit_at == std::string::npos ? "" : text.substr(unit_at);
  const auto number = resp::parse_integer(std::string_view(text).substr(0, unit_at));
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "KiB") shift = 10;
  if (unit == "MiB") shift = 20;
  if (unit == "GiB") shift = 30;
  if (!number || shift < 0 || *number > std::int64_t{1} << (48 - shift)) {
    throw std::runtime_error("memory: '" + text + "' is not a size such as 64MiB or 2GiB (B, KiB, MiB, GiB)");
  }
  const std::size_t bytes = static_cast<std::size_t>(*number) << shift;
  if (bytes < 1_MiB) throw std::runtime_error("memory: '" + text + "' is below the least allowed (1MiB)");
  const auto machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > machine) {
    throw std::runtime_error("memory: '" + text + "' is more than this machine has (" +
                             std::to_string(machine >> 20) + "MiB)");
  }
  return bytes;
}

std::chrono::nanoseconds parse_time(const std::string& flag, const std::string& text,
                                    std::chrono::nanoseconds least) {
  const auto time = core::parse_duration(text);
  if (!time) throw std::runtime_error(flag + ": '" + text + "' is not a time such as 500ms, 60s or 1h");
  if (*time < least) {
    throw std::runtime_error(flag + ": '" + text + "' is below the least allowed (" + core::to_text(least) +
                             ")");
  }
  return *time;
}

// "50%": above 0, at most all.
double parse_percent(const std::string& flag, const std::string& text) {
  const auto number = text.ends_with('%')
                          ? resp::parse_integer(std::string_view(text).substr(0, text.size() - 1))
                          : std::nullopt;
  if (!number || *number < 1 || *number > 100) {
    throw std::runtime_error(flag + ": '" + text + "' is not a share from 1% to 100%");
  }
  return static_cast<double>(*number) / 100;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Lines of `name = value`, a value in quotes or not; # begins a comment line. A flag takes true or false.
// What the command line or the environment says goes before what the file says. Our own few lines and not
// CLI11's reader: that one takes a name without a value for "true", which would be a password.
void read_config(CLI::App& app, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("config: cannot open '" + path + "': " + std::strerror(errno));
  std::map<CLI::Option*, std::vector<std::string>> found;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text[0] == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return std::runtime_error("config: " + path + ":" + std::to_string(number) + ": " + what);
    };
    const std::size_t equals = text.find('=');
    const std::string name(trimmed(text.substr(0, equals)));
    if (equals == std::string_view::npos) throw wrong("there is no '=' behind '" + name.substr(0, 32) + "'");
    CLI::Option* option = name == "config" || name == "help" ? nullptr : app.get_option_no_throw("--" + name);
    if (option == nullptr)
      throw wrong("'" + name.substr(0, 32) + "' is not known here; weir serve --help lists what is");
    std::string_view value = trimmed(text.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    const bool flag = option->get_items_expected_max() == 0;
    if (flag && value != "true" && value != "false") throw wrong("'" + name + "' is true or false");
    found[option].emplace_back(value);
  }
  if (file.bad()) throw std::runtime_error("config: cannot read '" + path + "'");
  for (auto& [option, values] : found) {
    if (option->count() > 0) continue;
    for (const std::string& value : values) option->add_result(value);
    try {
      option->run_callback();
    } catch (const CLI::Error& error) {
      throw std::runtime_error("config: " + path + ": " + error.what());
    }
  }
}

Settings settings_from(const Flags& flags) {
  Settings settings = flags.settings;
  for (const std::string& text : flags.resp) {
    if (!text.empty()) settings.resp.push_back(parse_endpoint(text));
  }
  settings.memory = parse_bytes(flags.memory);
  settings.when_full = flags.when_full == "allow" ? WhenFull::allow : WhenFull::deny;
  settings.snapshot_every = parse_time("snapshot-every", flags.snapshot_every, std::chrono::milliseconds{10});
  settings.stall_timeout = std::chrono::ceil<std::chrono::seconds>(
      parse_time("stall-timeout", flags.stall_timeout, std::chrono::seconds{1}));
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    throw std::runtime_error("tls-cert and tls-key belong together: give both or neither");
  }
  if (!flags.store.empty()) {
    auto endpoint = redis::Endpoint::parse(flags.store);
    if (!endpoint) throw std::runtime_error(endpoint.error());
    settings.store_text = endpoint->text();
    settings.store = std::move(*endpoint);
    redis::SharedStore::Policy& policy = settings.store_policy;
    policy.deadline = parse_time("store-deadline", flags.store_deadline, std::chrono::milliseconds{1});
    policy.remember_denials = !flags.no_remember_denials;
    policy.merge = flags.merge;
    policy.local_share = parse_percent("local-share", flags.local_share);
    if (flags.on_store_error == "allow") policy.on_error = OnStoreError::allow;
    if (flags.on_store_error == "deny") policy.on_error = OnStoreError::deny;
  }
  if (flags.store.empty() && !(settings.store_tls_cert.empty() && settings.store_tls_key.empty())) {
    throw std::runtime_error("store-tls-cert needs a store with TLS, whose URL begins with rediss");
  }
  if (!settings.tls_ca.empty() && settings.tls_cert.empty()) {
    throw std::runtime_error("tls-ca needs tls-cert and tls-key");
  }
  return settings;
}

int serve(const Flags& flags) {
  const Settings settings = settings_from(flags);
  auto log = spdlog::stderr_color_mt(
      "weir", std::getenv("NO_COLOR") != nullptr ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  spdlog::set_default_logger(std::move(log));
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
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
  auto flags = std::make_shared<Flags>();
  flags->settings.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* serve_app =
      app.add_subcommand("serve", "Serve Redis clients, RESP2 and RESP3, from memory or a shared Redis");
  // Wider than CLI11's 30, so that most flags take one line and all of them a screen.
  auto formatter = std::make_shared<CLI::Formatter>();
  formatter->column_width(38);
  serve_app->formatter(formatter);
  Settings& s = flags->settings;
  serve_app->add_option("--resp", flags->resp, "HOST:PORT to listen on; may be repeated")
      ->capture_default_str();
  serve_app->add_option("--unix-socket", s.unix_socket, "path of a socket to listen on, mode 0660");
  serve_app->add_option("--threads", s.threads, "event loops")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  serve_app
      ->add_option("--memory", flags->memory, "resident memory: 8 MiB is the program's, the rest holds keys")
      ->capture_default_str();
  serve_app->add_option("--when-full", flags->when_full, "what a new key gets when every slot is in use")
      ->check(CLI::IsMember({"deny", "allow"}))
      ->capture_default_str();
  serve_app->add_option("--max-connections", s.max_connections, "connections at once")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  serve_app
      ->add_option("--stall-timeout", flags->stall_timeout,
                   "longest time for half a command or untaken replies")
      ->capture_default_str();
  serve_app->add_option("--user", s.user, "name for AUTH")->envname("WEIR_USER")->capture_default_str();
  serve_app->add_option("--password", s.password, "password for AUTH; better in the environment or the file")
      ->envname("WEIR_PASSWORD");
  serve_app->add_option("--tls-cert", s.tls_cert, "certificate chain (PEM): TCP listeners speak TLS");
  serve_app->add_option("--tls-key", s.tls_key, "its private key (PEM)");
  serve_app->add_option("--tls-ca", s.tls_ca, "clients must show a certificate signed by this (PEM)");
  serve_app->add_option("--store", flags->store, "Redis or Valkey that keeps the counts: redis://HOST:6379")
      ->envname("WEIR_STORE");
  serve_app
      ->add_option("--on-store-error", flags->on_store_error, "who decides while the store does not answer")
      ->check(CLI::IsMember({"local", "allow", "deny"}))
      ->capture_default_str();
  serve_app->add_option("--store-deadline", flags->store_deadline, "longest wait for the store")
      ->capture_default_str();
  serve_app->add_option("--local-share", flags->local_share, "of a limit, when 'local' decides")
      ->capture_default_str();
  serve_app->add_flag("--no-remember-denials", flags->no_remember_denials,
                      "ask the store again for a key just denied");
  serve_app->add_flag("--merge", flags->merge,
                      "one call at a time for a key; checks that wait share the next");
  serve_app->add_option("--store-tls-ca", s.store_tls_ca,
                        "who signs the store's certificate (PEM) [the system's]");
  serve_app->add_option("--store-tls-cert", s.store_tls_cert, "certificate chain that the store wants (PEM)");
  serve_app->add_option("--store-tls-key", s.store_tls_key, "its private key (PEM)");
  serve_app->add_option("--snapshot", s.snapshot, "file to start from and to save to");
  serve_app->add_option("--snapshot-every", flags->snapshot_every, "time between saves")
      ->capture_default_str();
  serve_app->add_flag("--ignore-bad-snapshot", s.ignore_bad_snapshot,
                      "put a damaged snapshot aside, start empty");
  serve_app->add_flag("--insecure", s.insecure, "listen beyond loopback without password or TLS");
  serve_app->add_option("--log-level", flags->log_level, "what to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  serve_app->add_option("--config", flags->config, "file with any of these, one 'name = value' a line");
  serve_app->callback([flags, serve_app, &result] {
    if (!flags->config.empty()) read_config(*serve_app, flags->config);
    result = serve(*flags);
  });
}

}  // namespace weir::cli
