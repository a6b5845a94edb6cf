// Reads the limits file again when it or one of its lists has changed, and when it is told to; on a thread of
// its own, since reading a list of a million takes a second that no event loop has.
//
// It watches the directories, so that it sees a file that is replaced, and a Kubernetes ConfigMap, whose
// files change when the link ..data is swapped; and it looks at the files every second, for what a directory
// does not tell: one on another machine, one that was itself replaced.
//
// Any thread. The limits must outlive it.
#pragma once

#include <atomic>
#include <thread>

#include "service/limits_in_force.hpp"

namespace weir::inline v0_1::server {

class LimitsWatch {
 public:
  explicit LimitsWatch(service::LimitsInForce& limits);
  ~LimitsWatch();
  LimitsWatch(const LimitsWatch&) = delete;
  LimitsWatch& operator=(const LimitsWatch&) = delete;

  // Reads the file again, changed or not. Returns at once.
  void reload();

 private:
  void run();
  void wait();
  void wake();
  void watch_directories();
  bool drain_events() const;

  service::LimitsInForce& limits_;
  int inotify_;
  int wake_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> ends_{false};
  bool evented_ = false;  // of the thread
  std::thread thread_;
};

}  // namespace weir::server
