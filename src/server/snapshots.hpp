// The server's snapshots: the one to start from, and those that it saves.
//
// Saved at intervals, on a thread of its own, so that no connection waits for a disk. A snapshot that fails
// is logged and counted; the old file stays, the service continues, and the next one is tried when it is due.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "server/settings.hpp"
#include "service/counters.hpp"
#include "store/snapshot.hpp"
#include "store/table.hpp"

namespace weir::server {

// The snapshot to start from, if there is one. A damaged one stops the start with a std::runtime_error,
// unless the settings say to put it aside.
std::optional<store::SnapshotFile> open_snapshot(const Settings& settings);
// Restores its entries into the table; throws std::runtime_error if they do not fit.
void restore(store::SnapshotFile saved, const Settings& settings, store::Table& table,
             std::chrono::nanoseconds now);

class SnapshotWriter {
 public:
  // Starts the thread, if a snapshot file was asked for. All three must outlive it.
  SnapshotWriter(const Settings& settings, store::Table& table, service::Counters& counters);
  ~SnapshotWriter();

  void stop();  // waits for a snapshot under way
  bool save();  // now, on the caller's thread; true when there is nothing to do

 private:
  void run();

  const Settings& settings_;
  store::Table& table_;
  service::Counters& counters_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::server
