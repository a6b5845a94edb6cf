#include "store/snapshot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "store/clock.hpp"

namespace weir::store {
namespace {

using std::chrono::nanoseconds;

static_assert(std::endian::native == std::endian::little, "files are written as memory lies");

struct Header {
  std::array<char, 8> magic{'w', 'e', 'i', 'r', 's', 'n', 'a', 'p'};
  std::uint32_t version = 1;
  std::uint32_t record_bytes = 24;
  core::HashKey seed;
  std::array<char, 16> boot_id{};
  std::int64_t boot_time = 0;
  std::int64_t wall_time = 0;
};
static_assert(sizeof(Header) == 64);

struct Record {
  std::uint64_t place;
  std::uint64_t ahead;
  std::uint64_t interval;
};
static_assert(sizeof(Record) == 24);

struct Trailer {
  std::uint64_t records;
  std::uint64_t checksum;
};

constexpr unsigned kBucketBits = 14;
constexpr unsigned kTagBits = 42;
constexpr std::size_t kPiece = std::size_t{64} << 10;

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

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The kernel's name for this boot; all zero where it cannot be read, and then two boots are never taken for
// one.
std::array<char, 16> boot_id() {
  std::array<char, 16> id{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  std::array<char, 36> text{};
  const bool whole = read(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  std::size_t nibble = 0;
  for (const char c : text) {
    if (!whole || c == '-' || nibble == 32) continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    id[nibble / 2] = static_cast<char>(id[nibble / 2] << 4 | value);
    ++nibble;
  }
  return id;
}

std::string failure(const std::string& path, std::string_view what) {
  return "snapshot '" + path + "': " + std::string(what);
}
std::string system_failure(const std::string& path, std::string_view what) {
  const int code = errno;
  return failure(path, std::string(what) + ": " + std::strerror(code));
}

bool write_all(int file, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int file, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = fsync(file) == 0;
  close(file);
  return done;
}

// Writes everything up to the checksum; false with errno set when the disk refuses.
bool write_table(Table& table, int file, std::uint64_t& records) {
  Checksum checksum;
  const auto put = [&](const void* data, std::size_t size) {
    checksum.add(data, size);
    return write_all(file, data, size);
  };
  Header header;
  header.seed = table.seed();
  header.boot_id = boot_id();
  header.boot_time = read_clock(CLOCK_BOOTTIME);
  header.wall_time = read_clock(CLOCK_REALTIME);
  const nanoseconds now = steady_now();
  if (!put(&header, sizeof header)) return false;
  std::vector<Table::Entry> entries;
  std::vector<Record> out;
  for (std::uint32_t leaf = 0; leaf < table.leaves();) {
    entries.clear();
    out.clear();
    leaf = table.copy_segment(leaf, now, entries);
    for (const Table::Entry& entry : entries) {
      out.push_back({entry.place.tag << kBucketBits | entry.place.bucket, entry.ahead, entry.interval});
    }
    records += out.size();
    if (!put(out.data(), out.size() * sizeof(Record))) return false;
  }
  if (!put(&records, sizeof records)) return false;
  const std::uint64_t sum = checksum.finish();
  return write_all(file, &sum, sizeof sum);
}

}  // namespace

tl::expected<std::uint64_t, std::string> save_snapshot(Table& table, const std::string& path) {
  const std::string temporary = path + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return tl::unexpected(system_failure(path, "cannot create '" + temporary + "'"));
  std::uint64_t records = 0;
  const char* failed = nullptr;
  if (!write_table(table, file, records)) failed = "cannot write";
  if (failed == nullptr && fsync(file) != 0) failed = "cannot sync";
  std::string error = failed != nullptr ? system_failure(path, failed) : "";
  close(file);
  if (failed == nullptr && rename(temporary.c_str(), path.c_str()) != 0) {
    failed = "cannot rename";
    error = system_failure(path, failed);
  }
  if (failed != nullptr) {
    unlink(temporary.c_str());
    return tl::unexpected(std::move(error));
  }
  if (!sync_directory_of(path)) return tl::unexpected(system_failure(path, "cannot sync its directory"));
  return records;
}

tl::expected<SnapshotFile, std::string> SnapshotFile::open(const std::string& path) {
  // Not blocking: opening a pipe would wait for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return tl::unexpected(system_failure(path, "cannot open"));
  SnapshotFile file(path, descriptor);
  struct stat about{};
  if (fstat(descriptor, &about) != 0) return tl::unexpected(system_failure(path, "cannot read"));
  if (!S_ISREG(about.st_mode)) return tl::unexpected(failure(path, "is not a file"));
  const auto size = static_cast<std::uint64_t>(about.st_size);
  const auto damaged = [&](std::string_view how) {
    return tl::unexpected(failure(path, "damaged: " + std::string(how)));
  };
  Header header;
  if (size < sizeof(Header) + sizeof(Trailer)) return damaged("it is too short to be a snapshot");
  if (!read_all(descriptor, &header, sizeof header))
    return tl::unexpected(system_failure(path, "cannot read"));
  const Header expected;
  if (header.magic != expected.magic) return damaged("it does not begin as a snapshot does");
  if (header.version != expected.version || header.record_bytes != expected.record_bytes) {
    return tl::unexpected(failure(path, "is of version " + std::to_string(header.version) +
                                            "; this program reads " + std::to_string(expected.version)));
  }
  const std::uint64_t body = size - sizeof(Header) - sizeof(Trailer);
  if (body % sizeof(Record) != 0) return damaged("its length is not that of whole records");

  Checksum checksum;
  checksum.add(&header, sizeof header);
  std::vector<Record> records(kPiece / sizeof(Record));
  for (std::uint64_t left = body; left > 0;) {
    const auto n = std::min<std::uint64_t>(left, records.size() * sizeof(Record));
    if (!read_all(descriptor, records.data(), n)) return tl::unexpected(system_failure(path, "cannot read"));
    checksum.add(records.data(), n);
    left -= n;
    for (const Record& r : std::span(records).first(n / sizeof(Record))) {
      const bool sound = r.place >> (kTagBits + kBucketBits) == 0 && r.interval != 0 && r.ahead != 0;
      if (!sound || r.ahead > std::uint64_t{1} << 63 || r.interval >= std::uint64_t{1} << 63) {
        return damaged("a record is out of range");
      }
    }
  }
  Trailer trailer{};
  if (!read_all(descriptor, &trailer, sizeof trailer))
    return tl::unexpected(system_failure(path, "cannot read"));
  checksum.add(&trailer.records, sizeof trailer.records);
  if (trailer.records != body / sizeof(Record)) return damaged("it has lost or gained records");
  if (trailer.checksum != checksum.finish()) return damaged("its checksum does not match");

  file.seed_ = header.seed;
  file.records_ = trailer.records;
  const std::array<char, 16> boot = boot_id();
  const bool same_boot = boot == header.boot_id && boot != std::array<char, 16>{};
  const std::int64_t passed = same_boot ? read_clock(CLOCK_BOOTTIME) - header.boot_time
                                        : read_clock(CLOCK_REALTIME) - header.wall_time;
  file.passed_ = nanoseconds{std::max<std::int64_t>(0, passed)};
  return file;
}

SnapshotFile::SnapshotFile(SnapshotFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      seed_(other.seed_),
      records_(other.records_),
      passed_(other.passed_) {}

SnapshotFile::~SnapshotFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

tl::expected<std::uint64_t, std::string> SnapshotFile::restore_into(Table& table, nanoseconds now) {
  if (lseek(descriptor_, sizeof(Header), SEEK_SET) < 0)
    return tl::unexpected(system_failure(path_, "cannot read"));
  std::vector<Record> records(kPiece / sizeof(Record));
  const auto passed = static_cast<std::uint64_t>(passed_.count());
  std::uint64_t restored = 0;
  for (std::uint64_t left = records_; left > 0;) {
    const auto n = std::min<std::uint64_t>(left, records.size());
    if (!read_all(descriptor_, records.data(), n * sizeof(Record))) {
      return tl::unexpected(system_failure(path_, "cannot read"));
    }
    left -= n;
    for (const Record& r : std::span(records).first(n)) {
      if (r.ahead <= passed) continue;
      const auto bucket = static_cast<std::uint32_t>(r.place & ((1U << kBucketBits) - 1));
      if (!table.restore({{r.place >> kBucketBits, bucket}, r.ahead - passed, r.interval}, now)) {
        return tl::unexpected(failure(
            path_, "holds " + std::to_string(records_) + " keys, which do not fit into this much memory"));
      }
      ++restored;
    }
  }
  return restored;
}

}  // namespace weir::store
