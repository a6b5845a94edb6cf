// Locks that say what they guard: clang's thread-safety analysis (-Wthread-safety) then proves at compile
// time that it is touched only while they are held. Other compilers see nothing.
//
// Of the library's own: a program has no need of it. Source:
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html. tests/wont_compile shows that each lock is needed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

// Of a class: a lock; an object that holds one from its constructor to its destructor.
#define WEIR_CAPABILITY(name) WEIR_THREAD_ANNOTATION(capability(name))
#define WEIR_SCOPED_CAPABILITY WEIR_THREAD_ANNOTATION(scoped_lockable)
// Of a member: only the holder touches it.
#define WEIR_GUARDED_BY(lock) WEIR_THREAD_ANNOTATION(guarded_by(lock))
// Of a function: what it does to a lock, or needs of it.
#define WEIR_ACQUIRE(...) WEIR_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define WEIR_TRY_ACQUIRE(...) WEIR_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define WEIR_RELEASE(...) WEIR_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define WEIR_REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// It is held, although the analysis cannot see why: one of several locks that are held by one object.
#define WEIR_ASSERT_HELD(...) WEIR_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// It may be read without the lock: by the one thread that ever writes, which then holds it.
#define WEIR_ASSERT_READABLE(...) WEIR_THREAD_ANNOTATION(assert_shared_capability(__VA_ARGS__))
// The inside of such an object.
#define WEIR_NOT_ANALYSED WEIR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace weir::inline v0_1::detail {

// std::mutex, whose standard library tells the analysis nothing.
class WEIR_CAPABILITY("mutex") Mutex {
 public:
  void lock() WEIR_ACQUIRE() { mutex_.lock(); }
  void unlock() WEIR_RELEASE() { mutex_.unlock(); }

 private:
  friend class Signal;
  std::mutex mutex_;
};

// A lock that is held as long as this lives: also beyond a return that builds its result in the caller's
// place.
template <class Lock>
class WEIR_SCOPED_CAPABILITY Held {
 public:
  explicit Held(Lock& lock) WEIR_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  Held(Lock& lock, std::adopt_lock_t) WEIR_REQUIRES(lock) : lock_(lock) {}
  ~Held() WEIR_RELEASE() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Lock& lock_;
};

// std::condition_variable. There is no wait() with a predicate: the analysis takes a lambda for a function
// that holds nothing, so that the caller writes the loop.
class Signal {
 public:
  void wait(Mutex& mutex) WEIR_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // False when the time has come.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point time) WEIR_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool woken = changed_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace weir::detail
