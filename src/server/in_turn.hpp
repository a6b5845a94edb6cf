// A thread for what waits for disks or for a store, and has to happen in the order in which it was asked for.
//
// Any thread may ask. What asks waits for its answer, so that no more is asked than there are connections.
// Not for: what only the latest of matters (aside.hpp).
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class InTurn {
 public:
  InTurn() : thread_([this] { loop(); }) {}
  // Waits for all that was asked for.
  ~InTurn();
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

  void run(std::function<void()> work);

 private:
  void end();
  void loop();

  detail::Mutex mutex_;
  detail::Signal changed_;
  std::deque<std::function<void()>> waiting_ WEIR_GUARDED_BY(mutex_);
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir::server
