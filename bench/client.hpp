// What the load generators share: flags, a connection, requests in RESP, and clocks. Linux only.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace weir::inline v0_1::bench {

// A wrong command line; anything else that goes wrong is another exception, and another exit code.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
Number parse_number(std::string_view flag, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw UsageError(std::string(flag) + ": '" + std::string(text) + "' is not a number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// The value after a flag; steps onto it.
inline std::string_view value_of(int argc, char** argv, int& at) {
  if (at + 1 >= argc) throw UsageError(std::string(argv[at]) + " needs a value");
  return argv[++at];
}

inline std::system_error system_failure(const std::string& what) {
  return {errno, std::generic_category(), what};
}

class Connection {
 public:
  // With `segment_bytes`, no TCP segment is longer; otherwise they are as long as loopback allows, 64 KiB.
  explicit Connection(std::uint16_t port, int segment_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) throw system_failure("socket");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    if ((segment_bytes > 0 &&
         setsockopt(fd_, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes) != 0) ||
        connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        fcntl(fd_, F_SETFL, O_NONBLOCK) != 0) {
      const std::system_error failure = system_failure("connect to 127.0.0.1:" + std::to_string(port));
      close(fd_);
      throw failure;
    }
  }
  Connection(Connection&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Connection& operator=(Connection&&) = delete;
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }

  int fd() const { return fd_; }

  // How many bytes the kernel took; 0 when it has no room.
  std::size_t send_some(const char* bytes, std::size_t size) const {
    const ssize_t n = send(fd_, bytes, size, MSG_NOSIGNAL);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN || errno == EINTR) return 0;
    throw system_failure("send");
  }

  // How many bytes came; 0 when there are none now.
  std::size_t receive_some(char* bytes, std::size_t size) const {
    const ssize_t n = recv(fd_, bytes, size, 0);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) throw std::runtime_error("the server closed the connection");
    if (errno == EAGAIN || errno == EINTR) return 0;
    throw system_failure("recv");
  }

 private:
  int fd_;
};

inline std::string request(std::initializer_list<std::string_view> words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n";
    text.append(word).append("\r\n");
  }
  return text;
}

inline std::int64_t read_clock_ns(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) throw system_failure("clock_gettime");
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline std::int64_t now_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

// The CPU time that another process has taken, all its threads together: what /proc/PID/stat calls
// utime + stime, but in nanoseconds where that counts hundredths of a second.
inline clockid_t cpu_clock_of(pid_t pid) {
  clockid_t clock{};
  if (const int error = clock_getcpuclockid(pid, &clock); error != 0) {
    throw std::system_error(error, std::generic_category(), "CPU time of process " + std::to_string(pid));
  }
  return clock;
}

// The body of main: reports errors under the program's name. 2 for a wrong command line, after
// which `usage` follows, 1 for the rest.
template <class Act>
int run_main(const char* program, std::string_view usage, Act act) {
  try {
    return act();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n%.*s", program, error.what(), static_cast<int>(usage.size()), usage.data());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace weir::bench
