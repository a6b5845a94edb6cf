// Reads the limits file again when it or one of its lists has changed, and when it is told to; or a folder of
// Envoy's rate limits. On a thread of its own, since reading a list of a million takes a second that no event
// loop has. What could not be used is read again each minute.
//
// It watches the directories, so that it sees a file that is replaced, and a Kubernetes ConfigMap, whose
// files change when the link ..data is swapped, and those of links on the way there; and it looks at the
// files every second, for what a directory does not tell: one on another machine, one that was itself
// replaced.
//
// It reads one at a time, and once for all that have asked meanwhile: each is told of a file that was read
// after it asked, and of the latest.
//
// Any thread. What it reads again must outlive it.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "service/files_in_force.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class LimitsWatch {
 public:
  explicit LimitsWatch(service::FilesInForce& files);
  ~LimitsWatch();
  LimitsWatch(const LimitsWatch&) = delete;
  LimitsWatch& operator=(const LimitsWatch&) = delete;

  using Reading = service::FilesInForce::Reading;
  using OnRead = service::FilesInForce::OnRead;

  // Reads the file, changed or not. Returns at once; `told` is called by the thread of this, or after end()
  // by the caller's.
  void ask(Reading what, OnRead told);
  // All that wait are told that the server is shutting down, and nothing is read any more.
  void end();

 private:
  struct Callbacks {
    std::vector<OnRead> check;
    std::vector<OnRead> reload;
  };

  void run();
  void read_if(bool changed);  // or somebody asks
  void tell(std::vector<OnRead> Callbacks::* which, const std::vector<std::string>& errors);
  void wait();
  void wake();
  void watch_directories();
  bool drain_events() const;

  service::FilesInForce& files_;
  int inotify_;
  int wake_;
  std::atomic<bool> ends_{false};
  detail::Mutex mutex_;
  Callbacks asked_ WEIR_GUARDED_BY(mutex_);    // for the next reading
  Callbacks reading_ WEIR_GUARDED_BY(mutex_);  // for the one that is being made
  bool evented_ = false;                       // of the thread
  std::thread thread_;
};

}  // namespace weir::server
