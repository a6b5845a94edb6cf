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

#include "core/plural.hpp"
#include "store/clock.hpp"

namespace weir::inline v0_1::server {

namespace {

[[noreturn]] void refuse(const Settings& settings, const std::string& what) {
  throw std::runtime_error("snapshot '" + settings.snapshot + "': " + what);
}

}  // namespace

std::string put_aside(const std::string& path) {
  std::string aside = path + ".damaged";
  for (int number = 2; access(aside.c_str(), F_OK) == 0; ++number)
    aside = path + ".damaged." + std::to_string(number);
  if (rename(path.c_str(), aside.c_str()) != 0)
    throw std::runtime_error("'" + path + "' cannot be renamed to '" + aside + "': " + std::strerror(errno));
  return aside;
}

Snapshot open_snapshot(const Settings& settings) {
  Snapshot snapshot;
  if (settings.snapshot.empty()) return snapshot;
  struct stat found{};
  const bool is_there = stat(settings.snapshot.c_str(), &found) == 0;
  // Every first start has no file yet; a place where none can be written is an error to report now.
  if (!is_there && errno != ENOENT) refuse(settings, std::strerror(errno));
  if (is_there && !S_ISREG(found.st_mode)) refuse(settings, "is not a file");
  auto lock = store::SnapshotLock::take(settings.snapshot);
  if (!lock) throw std::runtime_error(lock.error());
  snapshot.lock.emplace(std::move(*lock));
  store::remove_leftovers(settings.snapshot);
  if (!is_there) return snapshot;
  auto opened = store::SnapshotFile::open(settings.snapshot);
  if (opened) {
    snapshot.file.emplace(std::move(*opened));
    return snapshot;
  }
  if (!settings.ignore_bad_snapshot) {
    throw std::runtime_error(opened.error() + "; --ignore-bad-snapshot puts it aside and starts empty");
  }
  spdlog::warn("{}; starting empty, the file is kept as {}", opened.error(), put_aside(settings.snapshot));
  return snapshot;
}

Snapshot take_over_snapshot(const Settings& settings, net::OwnedDescriptor lock) {
  Snapshot snapshot;
  if (settings.snapshot.empty()) return snapshot;
  if (lock) {
    auto its = store::SnapshotLock::handed_over(lock.release(), settings.snapshot);
    if (its) snapshot.lock.emplace(*std::move(its));
  }
  if (snapshot.lock) return snapshot;
  auto own = store::SnapshotLock::take(settings.snapshot);
  if (!own) throw std::runtime_error(own.error());
  snapshot.lock.emplace(std::move(*own));
  return snapshot;
}

void warn_of_lost(const std::string& where, const store::Reservations& reservations) {
  const store::Reservations::Counts counts = reservations.counts();
  if (counts.not_restored == 0) return;
  spdlog::warn(
      "{}: {} reservations and keys with some, {} of them paused, have no room in --reservation-memory {}MiB "
      "and are forgotten",
      where, counts.not_restored, counts.pauses_not_kept, reservations.memory().bound() >> 20);
}

void restore(store::SnapshotFile file, const Settings& settings, store::EmbeddedStore& embedded,
             std::chrono::nanoseconds now) {
  const auto restored = file.restore_into(embedded.table(), now, &embedded.reservations());
  if (!restored) throw std::runtime_error(restored.error());
  spdlog::info("snapshot {}: {} restored", settings.snapshot, core::counted(restored->keys, "key"));
  if (const std::uint64_t open = embedded.reservations().counts().open; open != 0)
    spdlog::info("snapshot {}: {} restored", settings.snapshot, core::counted(open, "reservation"));
  warn_of_lost("snapshot " + settings.snapshot, embedded.reservations());
  if (restored->dropped == 0) return;
  spdlog::warn("snapshot {}: {} keys, those least in debt, have no room in --memory {}MiB and are forgotten",
               settings.snapshot, restored->dropped, settings.memory >> 20);
}

SnapshotWriter::SnapshotWriter(const Settings& settings, store::EmbeddedStore& embedded,
                               service::Counters& counters)
    : settings_(settings), embedded_(embedded), counters_(counters) {
  if (!settings_.snapshot.empty()) thread_ = std::thread([this] { run(); });
}

SnapshotWriter::~SnapshotWriter() { stop(); }

void SnapshotWriter::stop() {
  {
    const detail::Held lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  failures_.renew();  // of one more, the last, the exit code depends
}

bool SnapshotWriter::save() {
  if (settings_.snapshot.empty()) return true;
  const detail::Held lock(saving_);
  return left_alone_ || save_alone();
}

void SnapshotWriter::leave_alone(bool yes) {
  const detail::Held lock(saving_);
  left_alone_ = yes;
}

bool SnapshotWriter::save_alone() {
  counters_.saving.store(1, std::memory_order_relaxed);
  const auto saved =
      store::save_snapshot(embedded_.table(), settings_.snapshot, {}, &embedded_.reservations());
  counters_.saving.store(0, std::memory_order_relaxed);
  if (saved) {
    counters_.count(&service::Counters::snapshots);
    last_saved_.store(std::chrono::system_clock::now(), std::memory_order_relaxed);
    return true;
  }
  counters_.count(&service::Counters::snapshot_errors);
  const std::uint64_t times = failures_.happened(store::steady_now());
  if (times == 1) spdlog::error("{}", saved.error());
  if (times > 1) spdlog::error("{}; {} times since the last such line", saved.error(), times);
  return false;
}

void SnapshotWriter::save_soon() {
  {
    const detail::Held lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
}

void SnapshotWriter::run() {
  while (take_turn()) save();
}

// Waits until one is due or asked for; false: no more.
bool SnapshotWriter::take_turn() {
  const auto due = std::chrono::steady_clock::now() + settings_.snapshot_every;
  const detail::Held lock(mutex_);
  while (!stopping_ && !asked_) {
    if (!wake_.wait_until(mutex_, due)) break;
  }
  asked_ = false;
  return !stopping_;
}

}  // namespace weir::server
