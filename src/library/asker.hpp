// Asks a store from any thread, and waits for the answers or does not.
//
// Not for: event loops, which submit and go on (store.hpp).
#pragma once

#include <memory>
#include <span>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

// The asker has it, and its checks and keys with it, until it is told.
struct Awaited : Request {
  void* context = nullptr;  // the asker's
};

// A request that nobody waits for: the asker has it until it is answered, tells it so, and destroys it.
struct Unawaited : Awaited {
  Unawaited() = default;
  Unawaited(const Unawaited&) = delete;
  Unawaited& operator=(const Unawaited&) = delete;
  virtual ~Unawaited() = default;
  virtual void tell() = 0;
};

class Asker {
 public:
  virtual ~Asker() = default;
  // All are answered when it returns. Their checks and keys stay until then.
  virtual void ask(std::span<Awaited> batch) = 0;
  // Does not wait. It is told once, by the thread that the store answers by, or inside this call.
  virtual void begin(std::unique_ptr<Unawaited> one) = 0;
  // Whether this thread must not wait, because the store answers by it.
  virtual bool answers_by_this_thread() const noexcept { return false; }
};

}  // namespace weir::store
