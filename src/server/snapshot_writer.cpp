#include "server/snapshot_writer.hpp"

#include <spdlog/spdlog.h>

#include "store/snapshot.hpp"

namespace weir::server {

SnapshotWriter::SnapshotWriter(Service& service) : service_(service) {
  if (!service_.settings.snapshot.empty()) thread_ = std::thread([this] { run(); });
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
  if (service_.settings.snapshot.empty()) return true;
  const auto saved = store::save_snapshot(service_.table, service_.settings.snapshot);
  if (saved) {
    service_.counters.snapshots.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  service_.counters.snapshot_errors.fetch_add(1, std::memory_order_relaxed);
  spdlog::error("{}", saved.error());
  return false;
}

void SnapshotWriter::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, service_.settings.snapshot_every, [this] { return stopping_; })) {
    lock.unlock();
    save();
    lock.lock();
  }
}

}  // namespace weir::server
