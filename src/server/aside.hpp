// A thread for what may wait for a disk, and so runs on no event loop: reading certificates at SIGHUP.
//
// Any thread; what is run belongs to the thread of this. Not for: what all has to happen (in_turn.hpp).
#pragma once

#include <functional>

#include "server/in_turn.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class Aside {
 public:
  Aside() = default;
  // Waits for what is being run; what has not begun is forgotten.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Runs it when what runs now has ended, in place of what was to be run then: the latest wins.
  void run(std::function<void()> work);

 private:
  void forget();
  void run_next();

  detail::Mutex mutex_;
  std::function<void()> next_ WEIR_GUARDED_BY(mutex_);
  InTurn thread_;  // it ends first
};

}  // namespace weir::server
