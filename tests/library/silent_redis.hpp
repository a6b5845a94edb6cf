// A Redis that takes connections and never says a word, so that checks stay open until their deadline.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace weir::inline v0_1 {

class SilentRedis {
 public:
  SilentRedis() {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-silent-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for a socket");
    folder_ = folder;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || listen(fd_, 64) != 0)
      throw std::runtime_error("no socket in " + folder_);
  }
  ~SilentRedis() {
    close(fd_);
    std::filesystem::remove_all(folder_);
  }
  SilentRedis(const SilentRedis&) = delete;
  SilentRedis& operator=(const SilentRedis&) = delete;

  std::string url() const { return "redis+unix://" + path(); }

 private:
  std::string path() const { return folder_ + "/socket"; }

  std::string folder_;
  int fd_ = -1;
};

}  // namespace weir
