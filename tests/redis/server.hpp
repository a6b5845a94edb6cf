// A Redis or Valkey of the test's own, on a socket in a folder of its own, and connections to it.
//
// WEIR_REDIS_SERVER names another program than redis-server. The server ends with the test, however that
// ends.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "resp/value.hpp"

namespace weir {

// The words of one command, as clients send them.
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  out += "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n";
    out += word;
    out += "\r\n";
  }
}

class RedisServer {
 public:
  // The program's place, empty when there is none.
  static std::string program() {
    const char* given = std::getenv("WEIR_REDIS_SERVER");
    const std::string name = given != nullptr ? given : "redis-server";
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::string_view folders = path != nullptr ? path : "";
    while (!folders.empty()) {
      const std::size_t end = std::min(folders.find(':'), folders.size());
      const std::string place = std::string(folders.substr(0, end)) + "/" + name;
      if (access(place.c_str(), X_OK) == 0) return place;
      folders.remove_prefix(std::min(end + 1, folders.size()));
    }
    return "";
  }

  RedisServer() {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for redis-server");
    folder_ = folder;
    const std::string place = program();
    const std::string socket = socket_path();
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, 0);
      dup2(nothing, 1);
      if (getppid() == parent && chdir(folder_.c_str()) == 0) {
        execl(place.c_str(), place.c_str(), "--port", "0", "--unixsocket", socket.c_str(), "--save", "",
              "--appendonly", "no", "--daemonize", "no", nullptr);
      }
      _exit(127);
    }
    if (child_ < 0) throw std::runtime_error("redis-server was not started");
    for (int tries = 0; access(socket.c_str(), F_OK) != 0; ++tries) {
      if (tries == 1'000 || waitpid(child_, nullptr, WNOHANG) != 0) {
        stop();
        throw std::runtime_error(place + " did not start");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
  }
  ~RedisServer() { stop(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string socket_path() const { return folder_ + "/socket"; }

 private:
  void stop() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  pid_t child_ = -1;
};

// Blocking: writes what was put into out, then reads answers one by one.
class RedisConnection {
 public:
  explicit RedisConnection(const RedisServer& server) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    server.socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("no connection to redis-server");
    }
  }
  ~RedisConnection() { close(socket_); }
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  std::string out;

  void flush() {
    std::string_view rest = out;
    while (!rest.empty()) {
      const ssize_t sent = send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("redis-server is gone");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    out.clear();
  }

  // The next answer; good until the one after it.
  const resp::Value& receive() {
    for (;;) {
      answer_ = parser_.parse(std::string_view(in_).substr(at_));
      if (answer_.status == resp::Parsed::Status::value) {
        at_ += answer_.used;
        return answer_.value;
      }
      if (answer_.status == resp::Parsed::Status::broken) throw std::runtime_error(std::string(answer_.why));
      in_.erase(0, at_);
      at_ = 0;
      const std::size_t before = in_.size();
      in_.resize(before + 65'536);
      const ssize_t got = recv(socket_, in_.data() + before, in_.size() - before, 0);
      if (got <= 0) throw std::runtime_error("redis-server is gone");
      in_.resize(before + static_cast<std::size_t>(got));
    }
  }

  const resp::Value& ask(std::initializer_list<std::string_view> words) {
    append_command(out, words);
    flush();
    return receive();
  }

 private:
  int socket_;
  resp::ReplyParser parser_;
  resp::Parsed answer_{};
  std::string in_;
  std::size_t at_ = 0;
};

}  // namespace weir
