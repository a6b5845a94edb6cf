// weir serve: turns flags, the configuration file and the environment into a running server.
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
  if (bytes < 1_MiB) throw std::runtime_error("memory: '" + text + "' is below the minimum (1MiB)");
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
    throw std::runtime_error(flag + ": '" + text + "' is below the minimum (" + core::to_text(least) + ")");
  }
  return *time;
}

// "50%": a whole number from 1 to 100.
double parse_percent(const std::string& flag, const std::string& text) {
  const auto number = text.ends_with('%')
                          ? resp::parse_integer(std::string_view(text).substr(0, text.size() - 1))
                          : std::nullopt;
  if (!number || *number < 1 || *number > 100) {
    throw std::runtime_error(flag + ": '" + text + "' is not a percentage from 1% to 100%");
  }
  return static_cast<double>(*number) / 100;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Lines of `name = value`, the value in quotes or not; # begins a comment line. A switch takes true or false.
// The command line and the environment take precedence over the file. Not CLI11's own reader, which reads a
// name without a value as "true": for a password that would be a value.
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
    if (equals == std::string_view::npos) throw wrong("missing '=' after '" + name.substr(0, 32) + "'");
    CLI::Option* option = name == "config" || name == "help" ? nullptr : app.get_option_no_throw("--" + name);
    if (option == nullptr)
      throw wrong("unknown setting '" + name.substr(0, 32) + "'; weir serve --help lists them");
    std::string_view value = trimmed(text.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    const bool flag = option->get_items_expected_max() == 0;
    if (flag && value != "true" && value != "false") throw wrong("'" + name + "' must be true or false");
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
    throw std::runtime_error("tls-cert and tls-key must be given together");
  }
  if (!flags.store.empty()) {
    auto endpoint = redis::Endpoint::parse(flags.store);
    if (!endpoint) throw std::runtime_error(endpoint.error());
    settings.store_text = endpoint->text();
    settings.store = std::move(*endpoint);
    redis::SharedStore::Options& options = settings.store_options;
    options.deadline = parse_time("store-deadline", flags.store_deadline, std::chrono::milliseconds{1});
    options.remember_denials = !flags.no_remember_denials;
    settings.store_merge = flags.merge;
    options.local_share = parse_percent("local-share", flags.local_share);
    if (flags.on_store_error == "allow") settings.on_store_error = OnStoreError::allow;
    if (flags.on_store_error == "deny") settings.on_store_error = OnStoreError::deny;
  }
  if (flags.store.empty() && !(settings.store_tls_cert.empty() && settings.store_tls_key.empty())) {
    throw std::runtime_error("store-tls-cert needs a store with TLS: a URL that begins with rediss");
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
      app.add_subcommand("serve", "Answer Redis clients, counting in memory or in a shared Redis");
  // Wider than CLI11's 30, so that most flags take one line and all of them fit a screen.
  auto formatter = std::make_shared<CLI::Formatter>();
  formatter->column_width(38);
  serve_app->formatter(formatter);
  Settings& s = flags->settings;
  const auto file = [serve_app](const char* name, std::string& path, const char* what) {
    serve_app->add_option(name, path, what)->type_name("FILE");
  };
  const auto time = [serve_app](const char* name, std::string& text, const char* what) {
    serve_app->add_option(name, text, what)->type_name("TIME")->capture_default_str();
  };
  // Validators describe themselves at length; the text says it shorter.
  const auto number = [serve_app](const char* name, auto& value, int most, const char* what) {
    serve_app->add_option(name, value, what)
        ->type_name("N")
        ->check(CLI::Range(1, most).description(""))
        ->capture_default_str();
  };
  const auto choice = [serve_app](const char* name, std::string& word, std::vector<std::string> words,
                                  const char* what) {
    serve_app->add_option(name, word, what)
        ->type_name("WORD")
        ->check(CLI::IsMember(std::move(words)).description(""))
        ->capture_default_str();
  };
  serve_app->add_option("--resp", flags->resp, "listen here; may be repeated")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  file("--unix-socket", s.unix_socket, "listen on a Unix socket, mode 0660");
  number("--threads", s.threads, 256, "event loops, up to 256 [one for each core]");
  serve_app
      ->add_option("--memory", flags->memory, "resident memory: 8 MiB for the program, the rest for keys")
      ->type_name("SIZE")
      ->capture_default_str();
  choice("--when-full", flags->when_full, {"deny", "allow"},
         "deny or allow new keys when every slot is in use");
  number("--max-connections", s.max_connections, 1'000'000, "connections at once");
  time("--stall-timeout", flags->stall_timeout,
       "close after this long with half a command or unread replies");
  serve_app->add_option("--user", s.user, "name for AUTH")
      ->type_name("NAME")
      ->envname("WEIR_USER")
      ->capture_default_str();
  serve_app->add_option("--password", s.password, "password for AUTH; better in the environment or the file")
      ->type_name("WORD")
      ->envname("WEIR_PASSWORD");
  file("--tls-cert", s.tls_cert, "certificate chain (PEM): TCP listeners speak TLS");
  file("--tls-key", s.tls_key, "its private key (PEM)");
  file("--tls-ca", s.tls_ca, "clients must show a certificate signed by this one (PEM)");
  serve_app->add_option("--store", flags->store, "Redis or Valkey that counts, as in redis://HOST:6379")
      ->type_name("URL")
      ->envname("WEIR_STORE");
  choice("--on-store-error", flags->on_store_error, {"local", "allow", "deny"},
         "fallback while the store does not answer: local, allow, deny");
  time("--store-deadline", flags->store_deadline, "longest wait for the store");
  serve_app->add_option("--local-share", flags->local_share, "share of each limit for the fallback 'local'")
      ->type_name("SHARE")
      ->capture_default_str();
  serve_app->add_flag("--no-remember-denials", flags->no_remember_denials,
                      "ask the store again about a key just denied");
  serve_app->add_flag("--merge", flags->merge,
                      "one call at a time for each key; later checks share the next");
  file("--store-tls-ca", s.store_tls_ca, "CA of the store's certificate (PEM) [the system's]");
  file("--store-tls-cert", s.store_tls_cert, "certificate chain for the store (PEM)");
  file("--store-tls-key", s.store_tls_key, "its private key (PEM)");
  file("--snapshot", s.snapshot, "start from this file, save to it: restarts keep debts");
  time("--snapshot-every", flags->snapshot_every, "time between saves");
  serve_app->add_flag("--ignore-bad-snapshot", s.ignore_bad_snapshot,
                      "put a damaged snapshot aside, start empty");
  serve_app->add_flag("--insecure", s.insecure, "listen beyond loopback without password or TLS");
  choice("--log-level", flags->log_level, {"debug", "info", "warn", "error", "off"},
         "debug, info, warn, error or off");
  file("--config", flags->config, "file with any of these, one 'name = value' a line");
  serve_app->callback([flags, serve_app, &result] {
    if (!flags->config.empty()) read_config(*serve_app, flags->config);
    result = serve(*flags);
  });
}

}  // namespace weir::cli
