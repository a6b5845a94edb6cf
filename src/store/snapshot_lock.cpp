#include "store/snapshot_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir::inline v0_1::store {

tl::expected<SnapshotLock, std::string> SnapshotLock::take(const std::string& path) {
  const std::string name = path + ".lock";
  const auto failure = [&](const std::string& what) {
    return tl::unexpected("snapshot '" + path + "': " + what);
  };
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return failure("cannot create '" + name + "': " + std::strerror(errno));
  SnapshotLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return failure("cannot lock '" + name + "': " + std::strerror(errno));
  return failure("another process saves to it; each needs a file of its own");
}

// A lock of flock() is that of the open file, which both processes have.
std::optional<SnapshotLock> SnapshotLock::handed_over(int descriptor, const std::string& path) {
  SnapshotLock lock(descriptor);
  struct stat its{};
  struct stat there{};
  if (fstat(descriptor, &its) != 0 || stat((path + ".lock").c_str(), &there) != 0) return std::nullopt;
  if (its.st_dev != there.st_dev || its.st_ino != there.st_ino) return std::nullopt;
  return lock;
}

SnapshotLock::~SnapshotLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace weir::store
