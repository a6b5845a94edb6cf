// weir ctl hash: the line of a users file that takes a password.
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "cli/ctl.hpp"
#include "cli/print.hpp"
#include "core/regular_file.hpp"
#include "steering/password_hash.hpp"

namespace weir::inline v0_1::cli {
namespace {

constexpr std::size_t kMostSecret = steering::PasswordHash::kMostPassword;
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

termios shown_as{};  // the terminal's settings, for the signal's handler

// Without this the shell would show nothing of what is typed next.
void show_again_and_end(int signal) {
  tcsetattr(STDIN_FILENO, TCSANOW, &shown_as);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// While this lives the terminal does not show what is typed.
class Unseen {
 public:
  Unseen() {
    if (tcgetattr(STDIN_FILENO, &shown_as) != 0) throw std::runtime_error("the terminal cannot be read");
    for (const int each : kSignals) std::signal(each, show_again_and_end);
    termios hidden = shown_as;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  ~Unseen() {
    tcsetattr(STDIN_FILENO, TCSANOW, &shown_as);
    for (const int each : kSignals) std::signal(each, SIG_DFL);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

// A line that is typed, without its end.
std::string typed(const char* prompt) {
  std::fputs(prompt, stderr);
  std::string line;
  char c = 0;
  ssize_t got = 0;
  while ((got = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') {
    if (line.size() <= kMostSecret) line += c;
  }
  std::fputs("\n", stderr);
  if (got != 1) throw std::runtime_error("no password was typed");
  return line;
}

std::string asked() {
  const Unseen unseen;
  std::string password = typed("password: ");
  if (typed("once more: ") != password) throw std::runtime_error("the two are not the same");
  return password;
}

// All of the standard input, without the end of its only line.
std::string piped() {
  auto read = core::read_to_end(STDIN_FILENO, kMostSecret + 2);
  if (!read) throw std::runtime_error("standard input: " + read.error());
  if (read->ends_with('\n')) read->pop_back();
  if (read->ends_with('\r')) read->pop_back();
  if (read->find('\n') != std::string::npos)
    throw std::runtime_error("standard input: more than one line; a password is one");
  return *read;
}

}  // namespace

void add_ctl_hash(CLI::App& ctl, int& result) {
  CLI::App* hash =
      ctl.add_subcommand("hash", "Hash a password, typed or from standard input, for the users file");
  hash->callback([&result] {
    const std::string password = isatty(STDIN_FILENO) == 1 ? asked() : piped();
    if (password.empty()) throw std::runtime_error("the password is empty");
    if (password.size() > kMostSecret)
      throw std::runtime_error("a password has at most " + std::to_string(kMostSecret) + " bytes");
    print("password: \"" + steering::PasswordHash::of(password).text() + "\"\n");
    result = 0;
  });
}

}  // namespace weir::cli
