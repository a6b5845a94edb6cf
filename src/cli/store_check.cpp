// weir store-check: whether weir's scripts hold on a Redis, or what claims to be one.
#include "engine/store_check.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/limits_flags.hpp"
#include "cli/print.hpp"
#include "cli/server_connection.hpp"
#include "cli/values.hpp"
#include "core/duration.hpp"
#include "core/json_writer.hpp"

namespace weir::inline v0_1::cli {
namespace {

using Kind = engine::Outcome::Kind;

struct StoreCheckFlags {
  std::string url;
  net::TlsFiles files;
  std::string tls_name;
  std::string timeout = "5s";
  std::string deadline = core::to_text(kStoreDeadline);
  bool json = false;
  bool speed = false;
};

volatile std::sig_atomic_t wants_to_end = 0;

// The second time it ends as a program does.
void on_signal(int signal) {
  wants_to_end = 1;
  std::signal(signal, SIG_DFL);
}

class SocketWire final : public engine::Wire {
 public:
  SocketWire(const ServerAddress& address, std::chrono::nanoseconds patience, const engine::StoreCheck& check)
      : check_(check) {
    heard([&] { server_.emplace(address, patience, [&check] { return check.interrupted(); }); });
  }
  void send(std::string_view bytes) override {
    heard([&] {
      server_->renew_patience();
      server_->send_bytes(bytes);
    });
  }
  engine::WireAnswer receive() override {
    std::optional<ServerConnection::Reply> reply;
    heard([&] {
      server_->renew_patience();
      reply = server_->reply();
    });
    if (!reply) throw engine::Seen("an answer was not RESP");
    return {reply->value, reply->bytes};
  }

 private:
  template <class Act>
  void heard(const Act& act) const {
    try {
      act();
    } catch (const std::runtime_error& why) {
      if (check_.interrupted()) throw engine::Stopped(why.what());
      throw engine::NoAnswer(why.what());
    }
  }

  const engine::StoreCheck& check_;
  std::optional<ServerConnection> server_;
};

struct Shown {
  std::string_view word;
  std::string_view of_json;
  std::string_view colour;
};
constexpr std::array kShown = {Shown{"ok    ", "ok", "\033[32m"}, Shown{"note  ", "note", "\033[33m"},
                               Shown{"n/a   ", "n/a", "\033[2m"}, Shown{"FAILS ", "fails", "\033[31m"},
                               Shown{"SILENT", "no answer", "\033[31m"}};

bool is_wrong(Kind kind) { return kind == Kind::fails || kind == Kind::silent; }

// What weir needs is said where it is not there.
std::string line_of(const engine::ToldCase& told, bool colour) {
  const auto& [word, of_json, begin] = kShown[static_cast<std::size_t>(told.outcome.kind)];
  std::string text = colour ? std::string(begin) + std::string(word) + "\033[0m" : std::string(word);
  text += " " + std::string(told.of->name) + ": " + told.outcome.seen;
  if (is_wrong(told.outcome.kind)) text += "; weir needs " + std::string(told.of->needs);
  return text + "\n";
}

std::string summary_of(const engine::StoreCheck& check) {
  std::string text = "\n" + check.shown_url + (check.engine.empty() ? "" : " (" + check.engine + ")") + ": " +
                     std::to_string(check.count(Kind::holds) + check.count(Kind::note)) + " cases hold";
  const auto add = [&text](std::size_t number, const char* what) {
    if (number > 0) text += ", " + std::to_string(number) + " " + what;
  };
  add(check.count(Kind::skipped), "do not apply");
  add(check.count(Kind::fails), "FAIL");
  add(check.count(Kind::silent), "had no answer");
  add(check.not_asked, "were not asked");
  const int code = check.exit_code();
  text += code == 0   ? ": weir's limits hold on it\n"
          : code == 1 ? ": weir's limits do not hold on it\n"
                      : ": there is no telling\n";
  for (const engine::Speed& each : check.speed) {
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(),
                  "speed: a check takes %.0f us, of a hundred the slowest %.0f us; %.0f checks/s of one key "
                  "with 64 in flight\n",
                  each.call_us, each.slowest_call_us, each.checks_per_second);
    text += line.data();
  }
  return text;
}

std::string json_of(const engine::StoreCheck& check) {
  std::string out;
  core::JsonWriter json(out);
  json.begin_object();
  json.member("url", check.shown_url);
  json.member("engine", core::or_null(check.engine));
  const int code = check.exit_code();
  json.member("result", code == 0 ? "holds" : code == 1 ? "does not hold" : "no answer");
  json.member("not_asked", static_cast<std::int64_t>(check.not_asked));
  json.begin_array("cases");
  for (const engine::ToldCase& each : check.told) {
    json.begin_object();
    json.member("case", each.of->name);
    json.member("verdict", kShown[static_cast<std::size_t>(each.outcome.kind)].of_json);
    json.member("seen", each.outcome.seen);
    json.member("needs", each.of->needs);
    json.end_object();
  }
  json.end_array();
  for (const engine::Speed& each : check.speed) {
    json.begin_object("speed");
    json.member("call_us", static_cast<std::int64_t>(each.call_us));
    json.member("slowest_of_a_hundred_us", static_cast<std::int64_t>(each.slowest_call_us));
    json.member("checks_per_second", static_cast<std::int64_t>(each.checks_per_second));
    json.end_object();
  }
  json.end_object();
  return out + "\n";
}

int store_check(const StoreCheckFlags& flags) {
  const auto patience = parse_time("timeout", flags.timeout, std::chrono::milliseconds{1});
  engine::StoreCheck check;
  check.url = flags.url;
  check.with_speed = flags.speed;
  check.deadline = parse_time("store-deadline", flags.deadline, std::chrono::milliseconds{1});
  check.stopped = [] { return wants_to_end != 0; };
  check.open = [&](const std::string& host, std::uint16_t port, bool tls) {
    ServerAddress address;
    address.host = host;
    address.port = port;
    address.tls = tls;
    if (port == 0) address.unix_socket = host;
    if (tls) address.files = flags.files;
    if (tls) address.tls_name = flags.tls_name;
    return std::make_unique<SocketWire>(address, patience, check);
  };
  const bool colour = wants_colour();
  check.on_told = [&](const engine::ToldCase& told) {
    if (!flags.json) print(line_of(told, colour));
  };
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  check.run();
  print(flags.json ? json_of(check) : summary_of(check));
  if (check.was_stopped)
    std::fputs(check.left_nothing ? "weir: interrupted; its keys are deleted\n" : "weir: interrupted\n",
               stderr);
  if (!check.left_nothing)
    std::fputs("weir: its keys could not be deleted; they end within a minute\n", stderr);
  return check.exit_code();
}

}  // namespace

void add_store_check(CLI::App& app, int& result) {
  auto flags = std::make_shared<StoreCheckFlags>();
  CLI::App* command =
      app.add_subcommand("store-check", "Say whether a Redis suits weir; exit code 0 yes, 1 no, 2 no answer");
  command->add_option("URL", flags->url, "the store, as --store of weir serve has it: redis://HOST:PORT")
      ->envname("WEIR_STORE")
      ->required();
  const auto file = [command](const char* name, std::string& path, const char* what) {
    command->add_option(name, path, what)->type_name("FILE");
  };
  file("--tls-ca", flags->files.ca, "of rediss://, CA of its certificate (PEM) [the system's]");
  file("--tls-cert", flags->files.cert, "certificate chain to show (PEM)");
  file("--tls-key", flags->files.key, "its private key (PEM)");
  command->add_option("--tls-name", flags->tls_name, "whom it names [the host of URL]")->type_name("NAME");
  const auto time = [command](const char* name, std::string& text, const char* what) {
    command->add_option(name, text, what)->type_name("TIME")->capture_default_str();
  };
  time("--timeout", flags->timeout, "longest wait for each answer");
  time("--store-deadline", flags->deadline, "that of the servers, of which a third has to be enough");
  command->add_flag("--json", flags->json, "print one object of JSON");
  command->add_flag("--speed", flags->speed, "measure checks too: some 7,000 of one key");
  command->callback([flags, &result] { result = store_check(*flags); });
}

}  // namespace weir::cli
