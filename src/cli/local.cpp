// weir local: a server for one user of one machine, which starts when a client needs it and ends by itself.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.hpp"
#include "cli/detached.hpp"
#include "cli/limits_flags.hpp"
#include "cli/local_lock.hpp"
#include "cli/local_place.hpp"
#include "cli/print.hpp"
#include "cli/serve.hpp"
#include "cli/server_connection.hpp"
#include "cli/values.hpp"
#include "cli/version.hpp"
#include "core/virtual_time.hpp"

namespace weir::inline v0_1::cli {
namespace {

// How long it may take until the process that has the lock serves, or one that ends has ended.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLookAgain{10};

struct LocalFlags {
  std::string limits;
  std::string idle = "60s";
  std::string socket;
  std::vector<std::string> resp;
  bool insecure = false;
  bool virtual_time = false;
  std::string now;
  bool foreground = false;
};

// Throws where another user listens, who could tell us what they like.
bool answers(const std::string& socket) {
  unsigned user = 0;
  try {
    ServerAddress address;
    address.unix_socket = socket;
    ServerConnection server(address, std::chrono::seconds{1});
    user = server.listening_user();
    if (user == geteuid()) {
      server.send({"PING"});
      const auto answer = server.answer();
      return answer && answer->text == "PONG";
    }
  } catch (const std::exception&) {
    return false;
  }
  throw std::runtime_error("local: '" + socket + "' is a socket of user " + std::to_string(user) +
                           "; expected one of this user, " + std::to_string(geteuid()));
}

// None: another process serves there.
std::optional<LocalLock> lock_to_serve(const LocalPlace& place) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!answers(place.socket)) {
    std::optional<LocalLock> lock = LocalLock::take(place.lock);
    // Again: who had it may have served and ended meanwhile, or its file was removed.
    if (lock && !answers(place.socket)) return lock;
    if (lock) break;
    if (std::chrono::steady_clock::now() > until)
      throw std::runtime_error("local: another process has '" + place.lock + "', and nobody answers at '" +
                               place.socket + "'");
    std::this_thread::sleep_for(kLookAgain);
  }
  return std::nullopt;
}

std::chrono::nanoseconds virtual_now_of(const std::string& text) {
  const std::chrono::nanoseconds now = now_of(text).time_since_epoch();
  if (now.count() < 0 || now > core::VirtualTime::kLatestWall)
    throw std::runtime_error("now: '" + text + "' is not from 1970 to 2100");
  return text.empty() ? std::chrono::floor<std::chrono::milliseconds>(now) : now;
}

server::Settings settings_of(const LocalFlags& flags, const LocalPlace& place) {
  server::Settings settings;
  settings.commit = kCommit;
  settings.unix_socket = place.socket;
  settings.allow_refunds = true;
  settings.local = {.idle = parse_time("idle", flags.idle, std::chrono::milliseconds{100})};
  if (!flags.limits.empty()) settings.limits = std::filesystem::absolute(flags.limits).string();
  if (flags.virtual_time) settings.virtual_now = virtual_now_of(flags.now);
  for (const std::string& each : flags.resp) settings.resp.push_back(parse_capped_address("resp", each));
  settings.insecure = flags.insecure;
  return settings;
}

// In virtual time nobody joins another's server.
LocalPlace place_of(const LocalFlags& flags) {
  if (!flags.socket.empty()) return local_place_of(flags.socket);
  return flags.virtual_time ? new_local_place() : local_place(flags.limits);
}

// What is left of a server that nobody comes back to.
struct Traces {
  const LocalPlace* place = nullptr;  // null: it may have another

  ~Traces() {
    if (place == nullptr) return;
    unlink(place->lock.c_str());
    unlink(place->log.c_str());
  }
};

void run(const LocalFlags& flags, int& result) {
  if (!flags.virtual_time && !flags.now.empty()) throw std::runtime_error("now needs --virtual-time");
  if (!flags.virtual_time && !flags.resp.empty()) throw std::runtime_error("resp needs --virtual-time");
  const LocalPlace place = place_of(flags);
  const server::Settings settings = settings_of(flags, place);
  const std::string line = place.socket + "\n";
  const std::optional<LocalLock> lock = lock_to_serve(place);
  if (!lock && flags.virtual_time)
    throw std::runtime_error("local: '" + place.socket +
                             "' is another server's, and with --virtual-time nobody joins one");
  const auto serve = [&](const std::function<void()>& ready) {
    const Traces traces{flags.virtual_time && flags.socket.empty() ? &place : nullptr};
    return serve_local(settings, ready);
  };
  result = 0;
  if (lock && flags.foreground) {
    result = serve([&line] { print(line); });
    return;
  }
  if (lock) run_detached(place.log, {lock->descriptor()}, serve);
  print(line);
}

}  // namespace

void add_local(CLI::App& app, int& result) {
  auto flags = std::make_shared<LocalFlags>();
  CLI::App* local_app =
      app.add_subcommand("local", "Print the socket of this user's own server, and start that if need be");
  local_app->add_option("--limits", flags->limits, "limits file, for WEIR.CHECK; read again when it changes")
      ->type_name("FILE");
  local_app->add_option("--idle", flags->idle, "end when nobody has been connected for this long")
      ->type_name("TIME")
      ->capture_default_str();
  local_app->add_option("--socket", flags->socket, "the socket [called after the limits file or the project]")
      ->type_name("PATH");
  local_app->add_flag("--virtual-time", flags->virtual_time,
                      "a new server whose time goes on by WEIR.TIME ADVANCE alone");
  local_app->add_option("--resp", flags->resp, "with --virtual-time: listen here, too; may be repeated")
      ->type_name("HOST:PORT");
  local_app->add_flag("--insecure", flags->insecure, "listen beyond loopback");
  local_app->add_option("--now", flags->now, "its wall clock at the start [the machine's]")
      ->type_name("TIME");
  local_app->add_flag("--foreground", flags->foreground, "serve in this process, and log to standard error");
  local_app->callback([flags, &result] { run(*flags, result); });
}

}  // namespace weir::cli
