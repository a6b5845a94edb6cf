#include "cli/detached.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace weir::inline v0_1::cli {
namespace {

constexpr rlim_t kMostLog = rlim_t{1} << 20;
constexpr char kReady = '+';

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("local: " + what + ": " + std::generic_category().message(errno));
}

// Not close_range(): kernels before 5.9 have none.
void close_all_but(const std::vector<int>& kept) {
  std::vector<int> open_ones;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    open_ones.push_back(std::stoi(each.path().filename().string()));
  for (const int each : open_ones) {
    if (each > STDERR_FILENO && std::find(kept.begin(), kept.end(), each) == kept.end()) close(each);
  }
}

void take_streams(int log) {
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
}

void leave() {
  setsid();
  umask(077);
  if (chdir("/") != 0) return;  // it always may
}

void tell(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(to, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;  // its reader has gone
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

int open_log(const std::string& path) {
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (log < 0) fail("cannot open '" + path + "'");
  return log;
}

// What the other process says until it says no more.
std::string read_all(int from) {
  std::string all;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t n = read(from, room.data(), room.size());
    if (n > 0) {
      all.append(room.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return all;
    }
  }
}

}  // namespace

void run_detached(const std::string& log, const std::vector<int>& kept,
                  const std::function<int(const std::function<void()>& ready)>& serve) {
  const int log_file = open_log(log);
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) fail("cannot fork");
  if (child > 0) {
    close(log_file);
    close(pipe[1]);
    const std::string said = read_all(pipe[0]);
    close(pipe[0]);
    if (said.starts_with(kReady)) return;
    waitpid(child, nullptr, 0);
    throw std::runtime_error(said.empty() ? "local: the server ended before it served; see '" + log + "'"
                                          : said);
  }
  int code = 2;
  bool told = false;
  try {
    leave();
    const rlimit most{kMostLog, kMostLog};
    setrlimit(RLIMIT_FSIZE, &most);
    std::vector<int> stay = kept;
    stay.push_back(pipe[1]);
    take_streams(log_file);
    close_all_but(stay);
    code = serve([&] {
      tell(pipe[1], std::string_view(&kReady, 1));
      close(pipe[1]);
      told = true;
    });
  } catch (const std::exception& error) {
    tell(told ? STDERR_FILENO : pipe[1], error.what());
  }
  std::exit(code);  // NOLINT(concurrency-mt-unsafe): the server's threads have ended
}

}  // namespace weir::cli
