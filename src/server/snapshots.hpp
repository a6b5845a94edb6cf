// The server's snapshots: the one to start from, and those that it saves.
//
// Saved at intervals, on a thread of its own, so that no connection waits for a disk. A snapshot that fails
// is counted, and logged at most every ten seconds; the old file stays, the service continues, and the next
// one is tried when it is due. No other process may save to the same file meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "core/repeated.hpp"
#include "net/owned_descriptor.hpp"
#include "server/settings.hpp"
#include "service/counters.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"
#include "store/snapshot_lock.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

struct Snapshot {
  std::optional<store::SnapshotLock> lock;  // while it lives, the file is ours
  std::optional<store::SnapshotFile> file;  // to start from, if there is one
};
// Throws std::runtime_error when another process has the file, and for a damaged one, unless the settings say
// to put it aside.
Snapshot open_snapshot(const Settings& settings);
// Renames a damaged file, out of the way of the next, which would overwrite it, and of those that were
// damaged before. Its new name.
std::string put_aside(const std::string& path);
// Of one that goes on from another process: the file is not read. `lock` is what that has handed over, if
// anything.
Snapshot take_over_snapshot(const Settings& settings, net::OwnedDescriptor lock);
// Of what has just been restored: logs how much found no room.
void warn_of_lost(const std::string& where, const store::Reservations& reservations);
// Restores its entries and its reservations, and logs how many, and how many had no room.
void restore(store::SnapshotFile file, const Settings& settings, store::EmbeddedStore& embedded,
             std::chrono::nanoseconds now);

// Any thread may call save(), save_soon() and last_saved().
class SnapshotWriter {
 public:
  // Starts the thread, if a snapshot file was asked for. All three must outlive it.
  SnapshotWriter(const Settings& settings, store::EmbeddedStore& embedded, service::Counters& counters);
  ~SnapshotWriter();

  void stop();  // waits for a snapshot under way
  bool save();  // now, on the caller's thread; true when there is nothing to do
  // Whether the file is left alone from now on, as another process is to save to it. Waits for a snapshot
  // that is being written.
  void leave_alone(bool yes);
  void save_soon();  // on the writer's thread; returns at once
  // When the last snapshot that was written was; before the first one, when this began.
  std::chrono::system_clock::time_point last_saved() const {
    return last_saved_.load(std::memory_order_relaxed);
  }

 private:
  void run();
  bool take_turn();
  bool save_alone() WEIR_REQUIRES(saving_);

  const Settings& settings_;
  store::EmbeddedStore& embedded_;
  service::Counters& counters_;
  detail::Mutex mutex_;
  detail::Signal wake_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  bool asked_ WEIR_GUARDED_BY(mutex_) = false;
  core::Repeated failures_;
  detail::Mutex saving_;  // one at a time, so that no older table is moved over a newer one
  bool left_alone_ WEIR_GUARDED_BY(saving_) = false;
  std::atomic<std::chrono::system_clock::time_point> last_saved_{std::chrono::system_clock::now()};
  std::thread thread_;
};

}  // namespace weir::server
