// A table in a file, so that a restart forgets no debt.
//
// Written beside and moved into place: temporary file, fsync, rename, fsync of the directory; whenever the
// program is killed, the file is a whole old one or a whole new one. What is kept of a key is how far ahead
// of the time of writing its tat stood, so a file restored under another clock locks nobody out; on
// restoring, the time that has passed is taken off. That time is read from CLOCK_BOOTTIME when the machine
// has not been rebooted in between, and from the wall clock when it has, where a clock that was set back
// counts as no time.
//
// Layout, little endian: 64 bytes of header (magic "weirsnap", version, size of a record, seed, boot id, boot
// time and wall clock in ns), records of 24 bytes (tag << 14 | bucket, ahead, interval), then the number of
// records and a SipHash-1-3 of everything before, chained over pieces of 64 KiB. The seed makes the file a
// secret: mode 0600.
//
// Any thread, beside any number of threads that use the table. Errors are one sentence that names the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "store/table.hpp"

namespace weir::store {

// Returns the number of keys saved.
tl::expected<std::uint64_t, std::string> save_snapshot(Table& table, const std::string& path);

// A file that has been read once and found whole.
class SnapshotFile {
 public:
  static tl::expected<SnapshotFile, std::string> open(const std::string& path);

  SnapshotFile(SnapshotFile&& other) noexcept;
  SnapshotFile& operator=(SnapshotFile&& other) = delete;
  ~SnapshotFile();

  // The seed that the table must have been made with for restore_into().
  core::HashKey seed() const { return seed_; }
  // Returns the number of keys that still matter and are in the table now. Fails when they do not all fit.
  tl::expected<std::uint64_t, std::string> restore_into(Table& table, std::chrono::nanoseconds now);

 private:
  SnapshotFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  core::HashKey seed_;
  std::uint64_t records_ = 0;
  std::chrono::nanoseconds passed_{0};
};

}  // namespace weir::store
