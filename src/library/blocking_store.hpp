// Asks a store from any thread, and waits for the answers or does not.
//
// Not for: event loops, which submit and go on (store.hpp).
#pragma once

#include <memory>
#include <span>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

class BlockingStore;

// A request that nobody waits for: the asker has it until it is answered, tells it so, and destroys it.
struct Unawaited {
  Unawaited() = default;
  Unawaited(const Unawaited&) = delete;
  Unawaited& operator=(const Unawaited&) = delete;
  virtual ~Unawaited() = default;
  virtual Request& request() = 0;
  virtual void tell() = 0;

  BlockingStore* asker = nullptr;  // that has it
};

class BlockingStore {
 public:
  virtual ~BlockingStore() = default;
  // All are answered when it returns. They stay until then, and their checks and keys. It has their
  // `context` and `on_answer`, here and in begin().
  virtual void ask(std::span<Request* const> batch) = 0;
  // Does not wait. It is told once, by the thread that the store answers by, or inside this call.
  virtual void begin(std::unique_ptr<Unawaited> one) = 0;
  // Whether this thread must not wait, because the store answers by it.
  virtual bool answers_by_this_thread() const noexcept { return false; }
};

}  // namespace weir::store
