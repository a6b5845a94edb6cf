#include "store/snapshot.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/greatest.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

static_assert(std::endian::native == std::endian::little, "files are written as memory lies");

struct Header {
  std::array<char, 8> magic{'w', 'e', 'i', 'r', 's', 'n', 'a', 'p'};
  std::uint32_t version = kSnapshotFormat;
  std::uint32_t record_bytes = 24;
  core::HashKey seed;
  Stamp stamp;
};
static_assert(sizeof(Header) == 64);
struct Record {
  std::uint64_t place;
  std::uint64_t ahead;
  std::uint64_t word;
};
static_assert(sizeof(Record) == 24);

struct Trailer {
  std::uint64_t reserved_bytes;
  std::uint64_t records;
  std::uint64_t checksum;
};

constexpr unsigned kBucketBits = 14;
constexpr unsigned kTagBits = 42;
constexpr std::size_t kPiece = std::size_t{64} << 10;

// PATH.tmp.123456 becomes PATH when it is whole.
constexpr std::size_t kUnique = 6;

// Fed in any portions, sums up pieces of kPiece bytes.
class Checksum {
 public:
  void add(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const std::size_t n = std::min(size, kPiece - piece_.size());
      piece_.append(at, n);
      at += n;
      size -= n;
      if (piece_.size() == kPiece) close_piece();
    }
  }
  std::uint64_t finish() {
    close_piece();
    return sum_;
  }

 private:
  void close_piece() {
    sum_ = core::siphash<1, 3>({sum_, kPiece}, piece_);
    piece_.clear();
  }
  std::string piece_;
  std::uint64_t sum_ = 0;
};

std::string failure(const std::string& path, std::string_view what) {
  return "snapshot '" + path + "': " + std::string(what);
}
std::string system_failure(const std::string& path, std::string_view what) {
  const int code = errno;
  return failure(path, std::string(what) + ": " + std::strerror(code));
}

bool write_all(Disk& disk, int file, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const std::ptrdiff_t n = disk.write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(Disk& disk, int file, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const std::ptrdiff_t n = disk.read(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

// What the table can have, and no more is written. A window to which all has been given back has a word of 0,
// and still ends when it does.
bool is_sound(const Record& record) {
  return record.place >> (kTagBits + kBucketBits) == 0 && record.ahead != 0 &&
         record.ahead <= std::uint64_t{1} << 63;
}

// Of a record that is ahead by more than has passed.
TableEntry entry_of(const Record& record, std::uint64_t passed) {
  const auto bucket = static_cast<std::uint32_t>(record.place & ((1U << kBucketBits) - 1));
  return {record.place >> kBucketBits, bucket, record.ahead - passed, record.word};
}

// False with errno set when the disk refuses.
bool write_file(const Table& table, Reservations* reservations, const SystemClocks& clocks, Disk& disk,
                int file, std::uint64_t& records) {
  Checksum checksum;
  const auto put = [&](const void* data, std::size_t size) {
    checksum.add(data, size);
    return write_all(disk, file, data, size);
  };
  Header header;
  const auto [now, stamp] = read_instant(clocks);
  header.seed = table.seed();
  header.stamp = stamp;
  if (!put(&header, sizeof header)) return false;
  if (reservations != nullptr) reservations->begin_copy();
  std::vector<Table::Entry> entries;
  std::vector<Record> out;
  for (std::uint32_t leaf = 0; leaf < table.leaves();) {
    entries.clear();
    out.clear();
    leaf = table.copy_segment(leaf, now, entries);
    for (const Table::Entry& entry : entries) {
      out.push_back({entry.tag << kBucketBits | entry.bucket, entry.ahead, entry.word});
    }
    records += out.size();
    if (!put(out.data(), out.size() * sizeof(Record))) return false;
  }
  std::uint64_t reserved_bytes = 0;
  bool done = true;
  if (reservations != nullptr) {
    reservations->copy(now, [&](std::string_view piece) {
      reserved_bytes += piece.size();
      return done = put(piece.data(), piece.size());
    });
  }
  if (!done || !put(&reserved_bytes, sizeof reserved_bytes) || !put(&records, sizeof records)) return false;
  const std::uint64_t sum = checksum.finish();
  return write_all(disk, file, &sum, sizeof sum);
}

// Why it cannot be read; empty: it can.
std::string unreadable(const std::string& path, const SystemClocks& clocks, Disk& disk) {
  auto opened = SnapshotFile::open(path, clocks, disk);
  if (!opened) return opened.error();
  return opened->reads_reservations() ? "" : failure(path, "damaged: its reservations are out of range");
}

tl::expected<std::uint64_t, std::string> save(const Table& table, const std::string& path,
                                              const SystemClocks& clocks, Reservations* reservations,
                                              Disk& disk, bool reads_again) {
  std::string temporary = path + std::string(kTemporary) + std::string(kUnique, 'X');
  const int file = disk.create(temporary);
  if (file < 0) return tl::unexpected(system_failure(path, "cannot create a file beside it"));
  std::uint64_t records = 0;
  const char* failed = nullptr;
  if (!write_file(table, reservations, clocks, disk, file, records)) failed = "cannot write";
  if (failed == nullptr && !disk.sync(file)) failed = "cannot sync";
  std::string error = failed != nullptr ? system_failure(path, failed) : "";
  disk.close(file);
  if (failed == nullptr && reads_again) {
    error = unreadable(temporary, clocks, disk);
    if (!error.empty()) failed = "cannot read again";
  }
  if (failed == nullptr && !disk.rename(temporary, path)) {
    failed = "cannot rename";
    error = system_failure(path, failed);
  }
  if (failed != nullptr) {
    disk.remove(temporary);
    return tl::unexpected(std::move(error));
  }
  if (!disk.sync_folder_of(path)) return tl::unexpected(system_failure(path, "cannot sync its directory"));
  return records;
}

}  // namespace

tl::expected<std::uint64_t, std::string> save_snapshot(const Table& table, const std::string& path,
                                                       const SystemClocks& clocks, Reservations* reservations,
                                                       Disk& disk) {
  return save(table, path, clocks, reservations, disk, true);
}

tl::expected<std::uint64_t, std::string> hand_snapshot(const Table& table, const std::string& path,
                                                       Reservations& reservations, Disk& disk) {
  return save(table, path, {}, &reservations, disk, false);
}

void remove_leftovers(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string prefix = file.filename().string() + std::string(kTemporary);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && name.size() == prefix.size() + kUnique) unlink(entry->path().c_str());
  }
}

tl::expected<SnapshotFile, std::string> SnapshotFile::open(const std::string& path,
                                                           const SystemClocks& clocks, Disk& disk) {
  const auto opened = disk.open(path);
  if (!opened) return tl::unexpected(failure(path, "cannot open: " + opened.error()));
  const int descriptor = *opened;
  SnapshotFile file(path, disk, descriptor);
  const std::int64_t told = disk.size(descriptor);
  if (told < 0) return tl::unexpected(system_failure(path, "cannot read"));
  const auto size = static_cast<std::uint64_t>(told);
  const auto damaged = [&](std::string_view how) {
    return tl::unexpected(failure(path, "damaged: " + std::string(how)));
  };
  Header header;
  if (size < sizeof(Header) + sizeof(Trailer)) return damaged("it is too short to be a snapshot");
  if (!read_all(disk, descriptor, &header, sizeof header))
    return tl::unexpected(system_failure(path, "cannot read"));
  const Header expected;
  if (header.magic != expected.magic) return damaged("it does not begin as a snapshot does");
  if (header.version != expected.version || header.record_bytes != expected.record_bytes) {
    return tl::unexpected(failure(path, "is of version " + std::to_string(header.version) +
                                            "; this program reads " + std::to_string(expected.version)));
  }
  Trailer trailer{};
  if (!disk.seek(descriptor, size - sizeof trailer) ||
      !read_all(disk, descriptor, &trailer, sizeof trailer) || !disk.seek(descriptor, sizeof header))
    return tl::unexpected(system_failure(path, "cannot read"));
  const std::uint64_t body = size - sizeof header - sizeof trailer;
  if (trailer.reserved_bytes > body || (body - trailer.reserved_bytes) % sizeof(Record) != 0 ||
      trailer.records != (body - trailer.reserved_bytes) / sizeof(Record))
    return damaged("it has lost or gained bytes");

  Checksum checksum;
  checksum.add(&header, sizeof header);
  std::vector<Record> records(kPiece / sizeof(Record));
  for (std::uint64_t left = trailer.records; left > 0;) {
    const auto n = std::min<std::uint64_t>(left, records.size());
    if (!read_all(disk, descriptor, records.data(), n * sizeof(Record)))
      return tl::unexpected(system_failure(path, "cannot read"));
    checksum.add(records.data(), n * sizeof(Record));
    left -= n;
    for (const Record& r : std::span(records).first(n)) {
      if (!is_sound(r)) return damaged("a record is out of range");
    }
  }
  file.reserved_.resize(trailer.reserved_bytes);
  if (!read_all(disk, descriptor, file.reserved_.data(), file.reserved_.size()))
    return tl::unexpected(system_failure(path, "cannot read"));
  checksum.add(file.reserved_.data(), file.reserved_.size());
  checksum.add(&trailer, offsetof(Trailer, checksum));
  if (trailer.checksum != checksum.finish()) return damaged("its checksum does not match");

  file.seed_ = header.seed;
  file.records_ = trailer.records;
  file.passed_ = passed_since(header.stamp, clocks);
  return file;
}

SnapshotFile::SnapshotFile(SnapshotFile&& other) noexcept
    : path_(std::move(other.path_)),
      disk_(other.disk_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      seed_(other.seed_),
      records_(other.records_),
      reserved_(std::move(other.reserved_)),
      passed_(other.passed_) {}

SnapshotFile::~SnapshotFile() {
  if (descriptor_ >= 0) disk_.close(descriptor_);
}

// By a store that is thrown away.
bool SnapshotFile::reads_reservations() const {
  if (reserved_.empty()) return true;
  Table table(Table::kLeastBytes, WhenFull::deny);
  Reservations reservations(table, reserved_.size());
  const nanoseconds now = passed_ + std::chrono::hours{1};
  return reservations.restore(reserved_, now - passed_, now, true);
}

// Up to that many records at a time.
template <class Visit>
bool SnapshotFile::each_piece(std::size_t most, const Visit& visit) const {
  if (!disk_.seek(descriptor_, sizeof(Header))) return false;
  std::vector<Record> records(std::min<std::uint64_t>(most, records_));
  for (std::uint64_t left = records_; left > 0;) {
    const auto n = std::min<std::uint64_t>(left, records.size());
    if (!read_all(disk_, descriptor_, records.data(), n * sizeof(Record))) return false;
    left -= n;
    visit(std::span<const Record>(records).first(n));
  }
  return true;
}

// Every entry that has not been paid by now.
template <class Visit>
bool SnapshotFile::each_entry(const Visit& visit) const {
  const auto passed = static_cast<std::uint64_t>(passed_.count());
  return each_piece(kPiece / sizeof(Record), [&](std::span<const Record> records) {
    for (const Record& r : records)
      if (r.ahead > passed) visit(entry_of(r, passed));
  });
}

tl::expected<SnapshotFile::Restored, std::string> SnapshotFile::restore_into(Table& table, nanoseconds now,
                                                                             Reservations* reservations) {
  const auto each_debt = [this](const auto& visit) {
    return each_entry([&](const TableEntry& entry) { visit(entry.ahead); });
  };
  // The first nine tenths of what the table has room for always find a place; of the last, some may not.
  const std::uint64_t room = table.capacity();
  const std::uint64_t sure = room - room / 10;
  Greatest surely;
  Greatest perhaps;
  if (records_ > sure &&
      (!find_furthest(sure, each_debt, surely) || !find_furthest(room, each_debt, perhaps))) {
    return tl::unexpected(system_failure(path_, "cannot read"));
  }
  // A table of few keys does not take all its memory; one of many needs it in any case.
  const bool in_place = surely.all > sure;
  Restored restored;
  const auto restore = [&](const TableEntry& entry) {
    const bool done = in_place ? table.restore_in_place(entry, now) : table.restore(entry, now);
    ++(done ? restored.keys : restored.dropped);
  };
  std::vector<TableEntry> last;
  const bool whole = each_entry([&](const TableEntry& entry) {
    const bool has_room = perhaps.takes(entry.ahead);
    if (surely.takes(entry.ahead)) {
      restore(entry);
    } else if (has_room) {
      last.push_back(entry);
    } else {
      ++restored.dropped;
    }
  });
  if (!whole) return tl::unexpected(system_failure(path_, "cannot read"));
  std::sort(last.begin(), last.end(),
            [](const TableEntry& a, const TableEntry& b) { return a.ahead > b.ahead; });
  for (const TableEntry& entry : last) restore(entry);
  return restore_reservations(restored, now, reservations, false);
}

// In place there is room for each. Those of a leaf lie together, so that threads seldom meet.
tl::expected<SnapshotFile::Restored, std::string> SnapshotFile::take_over_into(Table& table, nanoseconds now,
                                                                               Reservations& reservations,
                                                                               unsigned threads) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  constexpr std::size_t kFetchedAhead = 8;
  const auto passed = static_cast<std::uint64_t>(passed_.count());
  std::atomic<std::uint64_t> kept{0};
  std::atomic<std::uint64_t> dropped{0};
  const auto restore = [&](std::span<const Record> records) {
    Restored some;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (i + kFetchedAhead < records.size()) table.prefetch(entry_of(records[i + kFetchedAhead], 0));
      const Record& each = records[i];
      if (each.ahead <= passed) continue;
      ++(table.restore_in_place(entry_of(each, passed), now) ? some.keys : some.dropped);
    }
    kept += some.keys;
    dropped += some.dropped;
  };
  const bool whole = each_piece(kAtOnce, [&](std::span<const Record> records) {
    std::vector<std::thread> others;
    const std::size_t share = records.size() / threads;
    for (unsigned i = 1; i < threads && share > 0; ++i) {
      others.emplace_back(restore, records.first(share));
      records = records.subspan(share);
    }
    restore(records);
    for (std::thread& each : others) each.join();
  });
  if (!whole) return tl::unexpected(system_failure(path_, "cannot read"));
  return restore_reservations({kept, dropped}, now, &reservations, true);
}

// After the table, in which a key's entry is of another moment than what is known of its reservations.
tl::expected<SnapshotFile::Restored, std::string> SnapshotFile::restore_reservations(
    Restored restored, nanoseconds now, Reservations* reservations, bool connections_go_on) {
  if (reservations != nullptr && !reserved_.empty() &&
      !reservations->restore(reserved_, now - passed_, now, connections_go_on))
    return tl::unexpected(failure(path_, "damaged: its reservations cannot be read"));
  reserved_.clear();
  return restored;
}

}  // namespace weir::store
