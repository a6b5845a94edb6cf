// Waiting for a lock that is held for some tens of nanoseconds. One object for each wait.
#pragma once

#include <thread>

namespace weir::store {

// Waits a little longer each time; yields once the holder is likely to have lost its processor.
class Spin {
 public:
  void wait() {
    if (++turns_ < 64) {
      __builtin_ia32_pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int turns_ = 0;
};

}  // namespace weir::store
