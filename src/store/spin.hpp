// Waiting for a lock that is held for some tens of nanoseconds.
//
// A holder that has lost its processor holds it longer. Then the waiting thread sleeps: yielding would let
// nobody run whose priority is lower, and a thread of high priority (SCHED_FIFO) would keep the holder from
// the one processor that both may use. Nobody who holds a bucket sleeps for another: lock_all() gives back
// what it has first. Other threads thus wait for one holder that was interrupted, and not for a chain of
// buckets. In a child of fork() a holder may be missing (fork.hpp).
//
// Any thread; one Spin for each wait.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <span>

#include "store/fork.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::store {

using detail::Held;

class Spin {
 public:
  // A short pause; false when it is time to sleep.
  bool again() {
    if (turns_ == kTurns) return false;
    ++turns_;
    pause();
    return true;
  }
  void wait() {
    if (!again()) sleep();
  }
  // As long as the kernel lets a thread of usual priority oversleep anyhow (timer slack).
  [[gnu::noinline, gnu::cold]] void sleep() {
    expect_a_holder(++sleeps_);
    constexpr timespec kSleep{0, 50'000};
    nanosleep(&kSleep, nullptr);
  }

 private:
  static constexpr int kTurns = 64;  // some microseconds

  // Tells the processor that this is a wait: it leaves more to the core's other thread.
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int turns_ = 0;
  int sleeps_ = 0;
};

// For what is held for longer than a few words take, as a map is. Slower than a mutex only when it is held.
class WEIR_CAPABILITY("spin lock") SpinLock {
 public:
  void lock() WEIR_ACQUIRE() {
    Spin spin;
    while (!try_lock()) spin.wait();
  }
  bool try_lock() WEIR_TRY_ACQUIRE(true) { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() WEIR_RELEASE() { held_.store(false, std::memory_order_release); }
  // For one of several that an object holds: says so to the analysis.
  void assert_held() const WEIR_ASSERT_HELD(this) {}

 private:
  std::atomic<bool> held_{false};
};

// Locks them in the order given, which is the same for all threads, so that no two wait for each other.
template <class Lock>
void lock_all(std::span<Lock* const> locks) WEIR_NOT_ANALYSED {
  const auto lock_soon = [](Lock& lock) WEIR_NOT_ANALYSED {
    Spin spin;
    while (!lock.try_lock()) {
      if (!spin.again()) return false;
    }
    return true;
  };
  Spin sleeper;
  for (std::size_t held = 0; held < locks.size();) {
    if (lock_soon(*locks[held])) {
      ++held;
      continue;
    }
    while (held > 0) locks[--held]->unlock();
    sleeper.sleep();
  }
}

}  // namespace weir::store
