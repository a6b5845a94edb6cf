#include "cli/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace weir::inline v0_1::cli {
namespace {

constexpr std::array kCaught = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
constexpr std::array kTerminalEnds = {SIGTERM, SIGHUP, SIGQUIT, SIGINT};
constexpr std::array kFatal = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
// The other screen, no cursor, no new line where a line is too long; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// Of the only one there is, for the signals' handlers.
termios terminal_before{};
sigset_t signals_before{};
std::array<volatile std::sig_atomic_t, 65> came{};
std::array<int, 2> wake_pipe = {-1, -1};

void note(int signal) { came.at(static_cast<std::size_t>(signal)) = 1; }

bool take(int signal) {
  volatile std::sig_atomic_t& flag = came.at(static_cast<std::size_t>(signal));
  const bool set = flag != 0;
  flag = 0;
  return set;
}

// Waits for a terminal that takes nothing, but not forever: this may be the way out.
void restore() {
  tcsetattr(STDOUT_FILENO, TCSANOW, &terminal_before);
  pollfd writable{STDOUT_FILENO, POLLOUT, 0};
  constexpr int kPatienceMs = 500;
  if (poll(&writable, 1, kPatienceMs) == 1)
    static_cast<void>(!::write(STDOUT_FILENO, kLeave.data(), kLeave.size()));
}

void restore_and_end(int signal) {
  restore();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void catch_with(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

sigset_t caught() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : kCaught) sigaddset(&set, each);
  return set;
}

// While it waits, and only then, signals come.
int wait_for(fd_set* readable, fd_set* writable) {
  const int most = std::max({STDIN_FILENO, STDOUT_FILENO, wake_pipe[0]});
  return pselect(most + 1, readable, writable, nullptr, nullptr, &signals_before);
}

bool is_over() {
  return std::any_of(kTerminalEnds.begin(), kTerminalEnds.end(),
                     [](int each) { return came.at(static_cast<std::size_t>(each)) != 0; });
}

}  // namespace

bool Terminal::is_there() {
  const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

Terminal::Terminal() {
  if (tcgetattr(STDOUT_FILENO, &terminal_before) != 0 || pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::runtime_error("the terminal cannot be read");
  const sigset_t set = caught();
  pthread_sigmask(SIG_BLOCK, &set, &signals_before);
  for (const int each : kCaught) {
    sigdelset(&signals_before, each);
    catch_with(each, note);
  }
  for (const int each : kFatal) catch_with(each, restore_and_end);
  enter();
}

Terminal::~Terminal() {
  restore();
  for (const int each : kCaught) std::signal(each, SIG_DFL);
  for (const int each : kFatal) std::signal(each, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
  for (int& each : wake_pipe) close(std::exchange(each, -1));
}

void Terminal::enter() {
  termios raw = terminal_before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDOUT_FILENO, TCSANOW, &raw);
  show(kEnter);
}

Terminal::Size Terminal::size() const {
  winsize found{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0)
    return {80, 24};
  return {found.ws_col, found.ws_row};
}

void Terminal::show(std::string_view frame) {
  constexpr std::size_t kAtOnce = 256;  // that one which is writable takes without blocking
  while (!frame.empty() && !is_over() && !gone_) {
    fd_set writable;
    FD_ZERO(&writable);
    FD_SET(STDOUT_FILENO, &writable);
    if (wait_for(nullptr, &writable) < 0) continue;
    const ssize_t wrote = ::write(STDOUT_FILENO, frame.data(), std::min(frame.size(), kAtOnce));
    if (wrote < 0 && errno != EINTR && errno != EAGAIN) gone_ = true;
    if (wrote > 0) frame.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void Terminal::stop_until_continued() {
  restore();
  std::signal(SIGTSTP, SIG_DFL);
  raise(SIGTSTP);
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);  // here it stops
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  catch_with(SIGTSTP, note);
  enter();
}

std::optional<std::string> Terminal::wait() {
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(STDIN_FILENO, &readable);
  FD_SET(wake_pipe[0], &readable);
  const int ready = gone_ || is_over() ? -1 : wait_for(&readable, nullptr);
  for (const int each : kTerminalEnds)
    if (take(each)) ended_by_ = each;
  if (ended_by_ != 0 || gone_) return std::nullopt;
  take(SIGWINCH);
  if (take(SIGTSTP)) stop_until_continued();
  if (take(SIGCONT)) enter();
  if (ready <= 0) return "";
  std::array<char, 256> bytes;
  if (FD_ISSET(wake_pipe[0], &readable)) static_cast<void>(!::read(wake_pipe[0], bytes.data(), bytes.size()));
  if (!FD_ISSET(STDIN_FILENO, &readable)) return "";
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got <= 0) return std::nullopt;
  return std::string(bytes.data(), static_cast<std::size_t>(got));
}

void Terminal::wake() {
  const char byte = 0;
  static_cast<void>(!::write(wake_pipe[1], &byte, 1));
}

}  // namespace weir::cli
