// Waiting for a lock that is held for some tens of nanoseconds. One object for each wait.
#pragma once

#include <thread>

namespace weir::store {

// Waits a little longer each time; yields once the holder is likely to have lost its processor.
class Spin {
 public:
  void wait() {
    if (++turns_ < 64) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  // Tells the processor that this is a wait: it leaves more to the core's other thread.
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int turns_ = 0;
};

}  // namespace weir::store
