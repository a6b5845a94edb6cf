// A table in a file, so that a restart forgets no debt.
//
// Written beside and moved into place: temporary file, fsync, rename, fsync of the directory; whenever the
// program is killed, the file is a whole old one or a whole new one. What is kept of a key is how far ahead
// of the time of writing its tat (or the end of its window) stood, so a file restored under another clock
// locks nobody out; on restoring, the time that has passed is taken off (store/snapshot_time.hpp).
//
// Restored into a table as large as the one that was saved, every key is there, however full it was
// (Table::restore_in_place()). Of more keys than there is room for, those furthest in debt are kept.
//
// Layout, little endian: 64 bytes of header (magic "weirsnap", version, size of a record, seed, boot id, boot
// time and wall clock in ns), records of 24 bytes (tag << 14 | the bucket where it lay, ahead, second word),
// what Reservations::copy() hands over, then how many bytes that is, the number of records, and a SipHash-1-3
// of everything before, chained over pieces of 64 KiB. The seed makes the file a secret, and so do the ids of
// reservations: mode 0600.
//
// Any thread, beside any number of threads that use the table. Errors are one sentence that names the file.
// Not for: keeping two processes apart that save to one file (store/snapshot_lock.hpp). Each saves whole
// files, and the last one stays.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "store/disk.hpp"
#include "store/reservations.hpp"
#include "store/snapshot_time.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::store {

// The version of what is written and read.
constexpr std::uint32_t kSnapshotFormat = 8;

// Returns the number of keys saved. `reservations`: those of the table, if they are to be saved with it. It
// is read again before it takes the place of what was at the path, which stays where it cannot be read.
tl::expected<std::uint64_t, std::string> save_snapshot(const Table& table, const std::string& path,
                                                       const SystemClocks& clocks = {},
                                                       Reservations* reservations = nullptr,
                                                       Disk& disk = system_disk());
// The same into a new place, for one that reads it at once.
tl::expected<std::uint64_t, std::string> hand_snapshot(const Table& table, const std::string& path,
                                                       Reservations& reservations, Disk& disk);

// Removes what was left beside the file by programs that were killed while they saved. Not while another may
// be saving.
void remove_leftovers(const std::string& path);

// A file that has been read once and found whole.
class SnapshotFile {
 public:
  static tl::expected<SnapshotFile, std::string> open(const std::string& path,
                                                      const SystemClocks& clocks = {},
                                                      Disk& disk = system_disk());

  SnapshotFile(SnapshotFile&& other) noexcept;
  SnapshotFile& operator=(SnapshotFile&& other) = delete;
  ~SnapshotFile();

  // The seed that the table must have been made with for restore_into().
  core::HashKey seed() const { return seed_; }
  // Whether restore_into() can read what is in it of reservations.
  bool reads_reservations() const;
  // The keys that still owe something. `now` is read after open(). Fails when the file cannot be read again.
  struct Restored {
    std::uint64_t keys = 0;
    std::uint64_t dropped = 0;  // the least in debt of them, for lack of room
  };
  tl::expected<Restored, std::string> restore_into(Table& table, std::chrono::nanoseconds now,
                                                   Reservations* reservations = nullptr);
  // The same of a process that goes on here: its table was no larger, and those that it has reserved for stay
  // connected. By that many threads.
  tl::expected<Restored, std::string> take_over_into(Table& table, std::chrono::nanoseconds now,
                                                     Reservations& reservations, unsigned threads);

 private:
  SnapshotFile(std::string path, Disk& disk, int descriptor)
      : path_(std::move(path)), disk_(disk), descriptor_(descriptor) {}
  template <class Visit>
  bool each_piece(std::size_t records, const Visit& visit) const;
  template <class Visit>
  bool each_entry(const Visit& visit) const;
  tl::expected<Restored, std::string> restore_reservations(Restored restored, std::chrono::nanoseconds now,
                                                           Reservations* reservations,
                                                           bool connections_go_on);

  std::string path_;
  Disk& disk_;
  int descriptor_;
  core::HashKey seed_;
  std::uint64_t records_ = 0;
  std::string reserved_;  // until it is restored
  std::chrono::nanoseconds passed_{0};
};

}  // namespace weir::store
