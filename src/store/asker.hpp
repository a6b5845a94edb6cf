// Asks a store and waits for the answers, from any thread.
//
// Not for: event loops, which submit and go on (store.hpp).
#pragma once

#include <chrono>
#include <span>

#include "store/store.hpp"

namespace weir::store {

struct Awaited : Request {
  void* context = nullptr;  // the asker's
};

class Asker {
 public:
  virtual ~Asker() = default;
  // All are answered when it returns. Their checks and keys stay until then.
  virtual void ask(std::span<Awaited> batch) = 0;
};

}  // namespace weir::store
