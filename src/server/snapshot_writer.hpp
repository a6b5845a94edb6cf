// Saves the table now and then, on a thread of its own, so that no connection waits for a disk.
//
// A snapshot that fails is logged and counted; the old file stays, the service goes on, the next one is tried
// at its time (pitfall M12).
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/service.hpp"

namespace weir::server {

class SnapshotWriter {
 public:
  // Starts the thread, if a snapshot file was asked for.
  explicit SnapshotWriter(Service& service);
  ~SnapshotWriter();

  void stop();  // waits for a snapshot under way
  bool save();  // now, on the caller's thread; true when there is nothing to do

 private:
  void run();

  Service& service_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::server
