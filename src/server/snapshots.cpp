#include "server/snapshots.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace weir::server {

std::optional<store::SnapshotFile> open_snapshot(const Settings& settings) {
  if (settings.snapshot.empty()) return std::nullopt;
  struct stat found{};
  if (stat(settings.snapshot.c_str(), &found) != 0) {
    const int code = errno;
    const std::size_t slash = settings.snapshot.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : settings.snapshot.substr(0, slash + 1);
    // Every first start has no file yet; a place where none can be written is an error to report now.
    if (code == ENOENT && access(directory.c_str(), W_OK | X_OK) == 0) return std::nullopt;
    throw std::runtime_error("snapshot '" + settings.snapshot +
                             "': " + std::strerror(code == ENOENT ? errno : code));
  }
  auto opened = store::SnapshotFile::open(settings.snapshot);
  if (opened) return std::move(*opened);
  if (!settings.ignore_bad_snapshot) {
    throw std::runtime_error(opened.error() + "; --ignore-bad-snapshot puts it aside and starts empty");
  }
  // Aside, because the next snapshot would overwrite it.
  const std::string aside = settings.snapshot + ".damaged";
  rename(settings.snapshot.c_str(), aside.c_str());
  spdlog::warn("{}; starting empty, the file is kept as {}", opened.error(), aside);
  return std::nullopt;
}

void restore(store::SnapshotFile saved, const Settings& settings, store::Table& table,
             std::chrono::nanoseconds now) {
  const auto restored = saved.restore_into(table, now);
  if (!restored) throw std::runtime_error(restored.error());
  spdlog::info("snapshot {}: {} keys restored", settings.snapshot, *restored);
}

SnapshotWriter::SnapshotWriter(const Settings& settings, store::Table& table, service::Counters& counters)
    : settings_(settings), table_(table), counters_(counters) {
  if (!settings_.snapshot.empty()) thread_ = std::thread([this] { run(); });
}

SnapshotWriter::~SnapshotWriter() { stop(); }

void SnapshotWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool SnapshotWriter::save() {
  if (settings_.snapshot.empty()) return true;
  const auto saved = store::save_snapshot(table_, settings_.snapshot);
  if (saved) {
    counters_.count(&service::Counters::snapshots);
    return true;
  }
  counters_.count(&service::Counters::snapshot_errors);
  spdlog::error("{}", saved.error());
  return false;
}

void SnapshotWriter::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, settings_.snapshot_every, [this] { return stopping_; })) {
    lock.unlock();
    save();
    lock.lock();
  }
}

}  // namespace weir::server
