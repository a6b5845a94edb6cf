// A thread for what may wait for a disk, and so runs on no event loop: reading certificates at SIGHUP.
//
// Any thread; what is run belongs to the thread of this.
#pragma once

#include <functional>
#include <thread>

#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class Aside {
 public:
  Aside() : thread_([this] { loop(); }) {}
  // Waits for what is being run; what has not begun is forgotten.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Runs it when what runs now has ended, in place of what was to be run then: the latest wins.
  void run(std::function<void()> work);

 private:
  void end();
  void loop();

  detail::Mutex mutex_;
  detail::Signal changed_;
  std::function<void()> next_ WEIR_GUARDED_BY(mutex_);
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir::server
