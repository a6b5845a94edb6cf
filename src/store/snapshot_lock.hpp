// The right to save to a snapshot file: one process has it, from its start to its end.
//
// Two that saved to one file would take turns at overwriting what the other counted. The lock is the kernel's
// (flock) on a file beside it, PATH.lock, so it ends with the process, however that ends; the file itself
// stays and means nothing. Move-only; one thread.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace weir::inline v0_1::store {

class SnapshotLock {
 public:
  // Fails, with a sentence that names the file, when another process has it. Does not wait.
  static tl::expected<SnapshotLock, std::string> take(const std::string& path);

  // What another process has handed over; nothing when it is not of that path.
  static std::optional<SnapshotLock> handed_over(int descriptor, const std::string& path);
  int descriptor() const { return descriptor_; }

  SnapshotLock(SnapshotLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  SnapshotLock& operator=(SnapshotLock&& other) = delete;
  ~SnapshotLock();

 private:
  explicit SnapshotLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace weir::store
