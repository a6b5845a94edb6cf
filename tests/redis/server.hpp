// A Redis or Valkey of the test's own, on a socket in a folder of its own, connections to it, and a cluster.
//
// WEIR_REDIS_SERVER names another program than redis-server. The server ends with the test, however that
// ends.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "resp/value.hpp"

namespace weir::inline v0_1 {

// The words of one command, as clients send them.
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  out += "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n";
    out += word;
    out += "\r\n";
  }
}

// A connected socket, or -1.
inline int connect_to(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
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

  // With more words for its command line, as {"--port", "7000"}.
  explicit RedisServer(std::initializer_list<std::string> options = {}) {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for redis-server");
    folder_ = folder;
    const std::string place = program();
    std::vector<std::string> words = {place,          "--unixsocket", socket_path(), "--save", "",
                                      "--appendonly", "no",           "--daemonize", "no"};
    words.insert(words.end(), {"--port", "0"});
    words.insert(words.end(), options);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, 0);
      dup2(nothing, 1);
      if (getppid() == parent && chdir(folder_.c_str()) == 0) {
        execv(place.c_str(), arguments.data());
      }
      _exit(127);
    }
    if (child_ < 0) throw std::runtime_error("redis-server was not started");
    for (int tries = 0; !answers(); ++tries) {
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
  // The socket is there a moment before anybody listens.
  bool answers() const {
    const int fd = connect_to(socket_path());
    if (fd >= 0) close(fd);
    return fd >= 0;
  }

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
  explicit RedisConnection(const RedisServer& server) : socket_(connect_to(server.socket_path())) {
    if (socket_ < 0) throw std::runtime_error("no connection to redis-server");
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

// Three masters without replicas that share the slots between them.
class RedisCluster {
 public:
  RedisCluster() {
    for (int i = 0; i < kMasters; ++i) {
      ports_.push_back(std::to_string(free_port()));
      servers_.push_back(std::make_unique<RedisServer>(std::initializer_list<std::string>{
          "--port", ports_.back(), "--bind", "127.0.0.1", "--cluster-enabled", "yes"}));
      connections_.push_back(std::make_unique<RedisConnection>(*servers_.back()));
    }
    for (int i = 0; i < kMasters; ++i) {
      RedisConnection& connection = *connections_[static_cast<std::size_t>(i)];
      connection.ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
      const int begin = 16'384 * i / kMasters;
      const int end = 16'384 * (i + 1) / kMasters;
      // ADDSLOTSRANGE came with Redis 7.
      std::string& out = connection.out;
      out += "*" + std::to_string(2 + end - begin) + "\r\n$7\r\nCLUSTER\r\n$8\r\nADDSLOTS\r\n";
      for (int slot = begin; slot < end; ++slot) {
        const std::string word = std::to_string(slot);
        out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
      }
      connection.flush();
      if (connection.receive().text != "OK") throw std::runtime_error("no slots for a node of the cluster");
      connection.ask({"CLUSTER", "MEET", "127.0.0.1", ports_.front()});
    }
    for (const auto& connection : connections_) {
      for (int tries = 0; !knows_all(*connection); ++tries) {
        if (tries == 1'000) throw std::runtime_error("the cluster did not come together");
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
      }
    }
  }

  std::string url() const { return "redis+cluster://127.0.0.1:" + ports_.front(); }
  const std::vector<std::unique_ptr<RedisConnection>>& connections() const { return connections_; }
  const std::vector<std::string>& ports() const { return ports_; }
  // Which of them serves the slot.
  static std::size_t owner(int slot) {
    std::size_t i = 0;
    while (slot >= 16'384 * (static_cast<int>(i) + 1) / kMasters) ++i;
    return i;
  }

 private:
  static constexpr int kMasters = 3;

  static bool knows_all(RedisConnection& connection) {
    const std::string info(connection.ask({"CLUSTER", "INFO"}).text);
    return info.find("cluster_state:ok") != std::string::npos &&
           info.find("cluster_slots_ok:16384") != std::string::npos &&
           info.find("cluster_known_nodes:" + std::to_string(kMasters)) != std::string::npos;
  }

  // Nodes talk to each other on the port 10000 above, which has to be free too.
  std::uint16_t free_port() {
    std::random_device random;
    for (;;) {
      const auto port = static_cast<std::uint16_t>(12'000 + random() % 10'000);
      if (take(port) && take(static_cast<std::uint16_t>(port + 10'000))) return port;
    }
  }

  // No other test takes the port while this one lives: its name is held, which tests/end_to_end/ports.py
  // holds too.
  bool take(std::uint16_t port) {
    const std::string name = "weir-test-port-" + std::to_string(port);
    sockaddr_un held{};
    held.sun_family = AF_UNIX;
    name.copy(held.sun_path + 1, name.size());  // its first byte stays 0: no file
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    names_.push_back(std::make_unique<Descriptor>(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    const Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::bind(names_.back()->number, reinterpret_cast<const sockaddr*>(&held), length) == 0 &&
           ::bind(probe.number, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  struct Descriptor {
    explicit Descriptor(int of) : number(of) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(number); }
    const int number;
  };

  std::vector<std::unique_ptr<Descriptor>> names_;
  std::vector<std::string> ports_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisConnection>> connections_;
};

}  // namespace weir
