#include "cli/write_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace weir::cli {
namespace {

// 0, or errno.
int write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno != EINTR) return errno;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::runtime_error(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace

void write_file(const std::string& path, const std::string& bytes, unsigned mode) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = fd < 0 ? errno : write_all(fd, bytes);
    if (fd >= 0) ::close(fd);
    if (error != 0) fail(path, error);
    return;
  }
  // For a symbolic link, the file that it names is replaced, not the link.
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  const std::string target = real ? real.get() : path;
  const std::string beside = target + ".tmp" + std::to_string(::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) fail(path, errno);
  int error = write_all(fd, bytes);
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    fail(path, error);
  }
}

}  // namespace weir::cli
