// The weir program; each subcommand is a file.
//
// Exit codes: 0 done (check, explain: allowed; lint: clean; test: passed; store-check: it holds), 1 denied
// (check, explain), differences (diff), errors (lint), failures (test, store-check), 2 any other error.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/option_table.hpp"
#include "cli/version.hpp"
#include "core/calendar.hpp"
#include "core/printable.hpp"

namespace {

bool known(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands([&word](const CLI::App* each) { return each->check_name(word); });
  return !commands.empty();
}

std::string known_commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : weir::cli::commands_of(app))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

// Of the words that no option took, the first: a flag by its name, anything else by its place, since it may
// be part of a secret.
std::string unexpected(const CLI::App& command, std::span<char* const> words) {
  const std::vector<std::string> rest = command.remaining();
  if (rest.empty()) return "an argument that was not expected";
  const std::string flag = rest.front().substr(0, rest.front().find('='));
  const auto of_a_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  if (flag.starts_with("--") && flag.size() <= 24 && std::all_of(flag.begin(), flag.end(), of_a_name))
    return "unknown flag '" + flag + "'";
  const auto at = std::find(words.begin(), words.end(), rest.front());
  return "argument " + std::to_string(at - words.begin()) + " was not expected";
}

// For a terminal. Some messages have several lines.
std::string shown(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (end == std::string_view::npos) return weir::core::printable(message);
  return weir::core::printable(message.substr(0, end)) + "\n" + shown(message.substr(end + 1));
}

// By the name of envoyproxy/ratelimit's program the program is that.
std::array ratelimit_name = std::to_array("ratelimit");
bool is_ratelimit(const std::vector<char*>& words) {
  if (words.empty()) return false;
  const std::string_view path = words.front();
  return path.substr(path.rfind('/') + 1) == ratelimit_name.data();
}

// What SIGHUP tells to read its files again, and never ends.
bool is_server(std::span<char* const> words) {
  const std::string_view command = words.size() > 1 ? words[1] : "";
  return command == "serve" || command == "local" || command == ratelimit_name.data();
}

// The command line, by the name that the program was called by too.
std::vector<char*> words_of(int argc, char** argv) {
  std::vector<char*> given(argv, argv + argc);
  if (is_ratelimit(given)) given.insert(given.begin() + 1, ratelimit_name.data());
  return given;
}

// Until there is something to read again. It comes before main, and before what the static objects of the
// libraries take: a good part of the start.
[[gnu::constructor(101)]] void ignore_hangups(int argc, char** argv) {
  if (is_server(words_of(argc, argv))) std::signal(SIGHUP, SIG_IGN);
}

// A descriptor that our parent closed would be the number of the first file or connection that we open, and
// get what we print.
void open_standard_streams() {
  for (const int descriptor : {0, 1, 2}) {
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  const std::vector<char*> given = words_of(argc, argv);
  const std::span<char* const> words(given);
  CLI::App app{"Rate limiting by GCRA, the generic cell rate algorithm.", "weir"};
  app.set_version_flag("--version", weir::cli::kVersionLine);
  app.require_subcommand(1);
  app.failure_message([words](const CLI::App* root, const CLI::Error& error) {
    const CLI::App* used = root;
    std::string command = "weir";
    for (auto next = root->get_subcommands(); !next.empty(); next = used->get_subcommands()) {
      used = next.front();
      command += " " + used->get_name();
    }
    const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && used != root;
    const std::string what = extra ? unexpected(*used, words) : error.what();
    return "weir: " + weir::core::printable(what) + " (see " + command + " --help)\n";
  });
  // A full disk or a closed pipe is reported where the write fails; by default its signal would end the
  // program.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  int result = 2;
  weir::cli::add_serve(app, result);
  weir::cli::add_local(app, result);
  weir::cli::add_ratelimit(app, result);
  weir::cli::add_check(app, result);
  weir::cli::add_top(app, result);
  weir::cli::add_ctl(app, result);
  weir::cli::add_replay(app, result);
  weir::cli::add_suggest(app, result);
  weir::cli::add_formats(app, result);
  weir::cli::add_lint(app, result);
  weir::cli::add_test(app, result);
  weir::cli::add_explain(app, result);
  weir::cli::add_diff(app, result);
  weir::cli::add_audit(app, result);
  weir::cli::add_store_check(app, result);
  weir::cli::add_completion(app, result);
  weir::cli::add_manual(app, result);
  try {
    if (words.size() > 1 && words[1][0] != '-' && !known(app, words[1])) {
      throw std::runtime_error("unknown command '" + std::string(words[1]) +
                               "'; known: " + known_commands(app));
    }
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir: %s\n", shown(error.what()).c_str());
    return 2;
  }
  return result;
}
