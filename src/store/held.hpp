// A lock that is held as long as this lives: also beyond a return that builds its Decision in the caller's
// place.
#pragma once

#include <mutex>

#include "store/thread_annotations.hpp"

namespace weir::inline v0_1::store {

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

}  // namespace weir::store
