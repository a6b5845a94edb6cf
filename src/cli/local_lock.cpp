#include "cli/local_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace weir::inline v0_1::cli {

LocalLock::~LocalLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<LocalLock> LocalLock::take(const std::string& path) {
  for (;;) {
    LocalLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (lock.descriptor_ < 0)
      throw std::runtime_error("local: cannot open '" + path +
                               "': " + std::generic_category().message(errno));
    if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    // The file may have been removed, and nobody else finds it.
    struct stat ours{};
    struct stat there{};
    if (fstat(lock.descriptor_, &ours) == 0 && stat(path.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
      return lock;
  }
}

}  // namespace weir::cli
