#include "steering/file_keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/regular_file.hpp"

namespace weir::inline v0_1::steering {
namespace {

// 100,000 of 1 KiB, with their names and numbers, and as many dead.
constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

std::string failed(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

tl::expected<OverrideBook, std::string> FileKeeper::load() {
  const auto bytes = core::read_regular_file(path_, kMostFileBytes);
  if (!bytes && bytes.error() == std::strerror(ENOENT)) return OverrideBook();
  auto read = bytes ? read_override_file(*bytes) : tl::unexpected(bytes.error());
  if (!read) return tl::unexpected("overrides '" + path_ + "': " + read.error());
  end_ = read->end;
  return std::move(read->book);
}

// A full disk may take a line and no second file, or, where much is dead, the other way round: what fails one
// way is tried the other.
std::optional<std::string> FileKeeper::keep(const OverrideBook& book, const OperatorOverride* made,
                                            const std::vector<OverrideBook::Ptr>& ended) {
  const BookChange change{book, made, ended};
  const std::size_t most = book.size() + std::max(book.size(), kFewDead);
  const bool is_mostly_dead = end_ && end_->entries > most && end_->entries >= not_before_;
  Failure why;
  if (is_mostly_dead) {
    why = rewrite(change);
    if (!why) return std::nullopt;
    not_before_ = 2 * (end_ ? end_->entries : 0);
  }
  if (append(change)) return std::nullopt;
  if (!is_mostly_dead) why = rewrite(change);
  if (!why) return std::nullopt;
  return "overrides '" + path_ + "': " + *why;
}

bool FileKeeper::append(const BookChange& change) {
  if (!end_) return false;
  const OverrideFileEnd before = *end_;
  const auto file = disk_.open_to_append(path_);
  if (!file || !is_as_left(*file, before)) {
    if (file) disk_.close(*file);
    end_.reset();
    return false;
  }
  OverrideFileEnd after = before;
  const bool done = !write_and_sync(*file, override_line(change, after));
  if (done) {
    end_ = after;
  } else if (!disk_.cut(*file, before.size) || !disk_.sync(*file)) {
    end_.reset();
  }
  disk_.close(*file);
  return done;
}

bool FileKeeper::is_as_left(int file, const OverrideFileEnd& end) {
  const std::string expected = last_bytes(end);
  std::string found(expected.size(), '\0');
  return disk_.size(file) == static_cast<std::int64_t>(end.size) &&
         disk_.seek(file, end.size - found.size()) &&
         disk_.read(file, found.data(), found.size()) == static_cast<std::ptrdiff_t>(found.size()) &&
         found == expected;
}

FileKeeper::Failure FileKeeper::rewrite(const BookChange& change) {
  bool moved = false;
  OverrideFileEnd after;
  Failure why = write_all(override_file(change, after), moved);
  if (!why) {
    end_ = after;
    not_before_ = 0;
  } else if (moved) {
    const std::string as_it_was = override_file({change.book, nullptr, {}}, after);
    end_ = std::nullopt;
    if (!write_all(as_it_was, moved)) end_ = after;
  }
  return why;
}

FileKeeper::Failure FileKeeper::write_and_sync(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t wrote = disk_.write(file, bytes.data(), bytes.size());
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
    if (wrote <= 0 && errno != EINTR) return failed("cannot write");
  }
  if (!disk_.sync(file)) return failed("cannot sync");
  return std::nullopt;
}

FileKeeper::Failure FileKeeper::write_all(std::string_view bytes, bool& moved) {
  std::string temporary = path_ + std::string(store::kTemporary) + "XXXXXX";
  const int file = disk_.create(temporary);
  if (file < 0) return failed("cannot create a file beside it");
  Failure why = write_and_sync(file, bytes);
  disk_.close(file);
  if (!why && !disk_.rename(temporary, path_)) why = failed("cannot rename");
  if (why) {
    disk_.remove(temporary);
    return why;
  }
  moved = true;
  if (!disk_.sync_folder_of(path_)) return failed("cannot sync its directory");
  return std::nullopt;
}

}  // namespace weir::steering
