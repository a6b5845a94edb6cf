// What tests/wont_compile/locks puts in the place of a Held: it holds nothing.
#pragma once

#include <mutex>

template <class Lock>
struct Unheld {
  explicit Unheld(Lock&);
  Unheld(Lock&, std::adopt_lock_t);
  ~Unheld();
};
