// Asks a store and waits for the answers, from any thread.
//
// Not for: event loops, which submit and go on (store.hpp).
#pragma once

#include <chrono>
#include <span>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

struct Awaited : Request {
  void* context = nullptr;  // the asker's
};

class Asker {
 public:
  virtual ~Asker() = default;
  // All are answered when it returns. Their checks and keys stay until then.
  virtual void ask(std::span<Awaited> batch) = 0;
  // For a thread that must not wait, because the store answers by it: cancels `reservation`, which it takes,
  // and does not wait for the answer. False, and nothing is done: this thread may wait.
  virtual bool cancel_unawaited(Reservation& reservation, std::chrono::nanoseconds patience) {
    static_cast<void>(reservation);
    static_cast<void>(patience);
    return false;
  }
};

}  // namespace weir::store
