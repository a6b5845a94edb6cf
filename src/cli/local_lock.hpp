// The right to serve at a place, which one process has at a time: that which serves has it to its end.
//
// One thread. Not for: whether anybody serves there.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace weir::inline v0_1::cli {

class LocalLock {
 public:
  // None: another process has it. Throws std::runtime_error of one line. A child has it too, and keeps it
  // when this process ends.
  static std::optional<LocalLock> take(const std::string& path);
  LocalLock(LocalLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LocalLock(const LocalLock&) = delete;
  LocalLock& operator=(const LocalLock&) = delete;
  ~LocalLock();

  int descriptor() const { return descriptor_; }

 private:
  explicit LocalLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace weir::cli
