#include "server/event_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "server/event_post.hpp"
#include "server/last_error.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr int kReaderPatience = 5'000;  // ms, for a reader that takes nothing

// A descriptor of its own, which is never waited for without end.
class OpenDescriptor {
 public:
  ~OpenDescriptor() { reset(); }
  OpenDescriptor() = default;
  OpenDescriptor(const OpenDescriptor&) = delete;
  OpenDescriptor& operator=(const OpenDescriptor&) = delete;
  void reset(int to = -1) {
    if (number_ >= 0) close(number_);
    number_ = to;
  }
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }

  // Empty: all of it was taken.
  std::string write_all(const std::string& text) const {
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t n = write(text.data() + written, text.size() - written);
      if (n >= 0) {
        written += static_cast<std::size_t>(n);
      } else if (errno == EAGAIN) {
        pollfd ready{number_, POLLOUT, 0};
        if (poll(&ready, 1, kReaderPatience) == 0) return "its reader takes nothing";
      } else if (errno != EINTR) {
        return last_error();
      }
    }
    return "";
  }
  // One datagram.
  ssize_t write(const char* data, std::size_t size) const {
    return is_socket_ ? send(number_, data, size, MSG_NOSIGNAL) : ::write(number_, data, size);
  }
  void is_socket() { is_socket_ = true; }

 private:
  int number_ = -1;
  bool is_socket_ = false;
};

class FileSink final : public EventSink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}

  std::string deliver(const std::string& lines) override {
    if (moved_.exchange(false)) file_.reset();
    if (!file_.open())
      file_.reset(
          open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640));
    if (!file_.open()) return last_error();
    struct stat found{};
    const bool regular = fstat(file_.number(), &found) == 0 && S_ISREG(found.st_mode);
    std::string wrong = file_.write_all(lines);
    // Half a line would spoil the next; a pipe is begun again.
    if (!wrong.empty() && regular && ftruncate(file_.number(), found.st_size) != 0)
      wrong += "; half a line stays";
    if (!wrong.empty()) file_.reset();
    return wrong;
  }
  void reopen() override { moved_ = true; }
  std::string name() const override { return path_; }

 private:
  const std::string path_;
  OpenDescriptor file_;
  std::atomic<bool> moved_{false};
};

// Of a socket that takes datagrams, as a syslog's, each line is one.
class SocketSink final : public EventSink {
 public:
  explicit SocketSink(std::string path) : path_(std::move(path)) {}

  std::string deliver(const std::string& lines) override {
    if (!socket_.open()) {
      if (const std::string wrong = connect(); !wrong.empty()) return wrong;
    }
    std::string wrong = datagrams_ ? send_each(lines) : socket_.write_all(lines);
    if (!wrong.empty()) socket_.reset();
    return wrong;
  }
  std::string name() const override { return "unix:" + path_; }

 private:
  std::string connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      socket_.reset(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      socket_.is_socket();
      datagrams_ = type == SOCK_DGRAM;
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the interface of sockets has it
      if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return "";
      if (errno != EPROTOTYPE) break;
    }
    std::string wrong = last_error();
    socket_.reset();
    return wrong;
  }
  std::string send_each(const std::string& lines) const {
    for (std::size_t from = 0; from < lines.size();) {
      const std::size_t end = lines.find('\n', from);
      if (const std::string wrong = socket_.write_all(lines.substr(from, end - from)); !wrong.empty())
        return wrong;
      from = end + 1;
    }
    return "";
  }

  const std::string path_;
  OpenDescriptor socket_;
  bool datagrams_ = false;
};

class HttpSink final : public EventSink {
 public:
  explicit HttpSink(const std::string& url) : post_(url) {}

  std::string deliver(const std::string& lines) override { return post_.send(lines); }
  bool gathers() const override { return true; }
  void give_up() override { post_.give_up(); }
  std::string name() const override { return post_.name(); }

 private:
  EventPost post_;
};

}  // namespace

std::unique_ptr<EventSink> make_event_sink(const std::string& where) {
  if (where.empty())
    throw std::runtime_error("events: a file, unix:PATH, http://... or https://... was expected");
  if (where.starts_with("http://") || where.starts_with("https://")) return std::make_unique<HttpSink>(where);
  if (!where.starts_with("unix:")) {
    const std::size_t scheme = where.find("://");
    if (scheme != std::string::npos)
      throw std::runtime_error("events: '" + where.substr(0, scheme) +
                               "://' is unknown: a file, unix:PATH, http://... or https://... was expected");
    return std::make_unique<FileSink>(where);
  }
  std::string path = where.substr(5);
  if (path.empty() || path.size() >= sizeof sockaddr_un{}.sun_path)
    throw std::runtime_error("events: the path of '" + where + "' has to have 1 to " +
                             std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes");
  return std::make_unique<SocketSink>(std::move(path));
}

}  // namespace weir::server
