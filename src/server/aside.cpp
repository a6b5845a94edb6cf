#include "server/aside.hpp"

#include <utility>

namespace weir::inline v0_1::server {

Aside::~Aside() { forget(); }

void Aside::forget() {
  const detail::Held lock(mutex_);
  next_ = nullptr;
}

void Aside::run(std::function<void()> work) {
  {
    const detail::Held lock(mutex_);
    if (std::exchange(next_, std::move(work))) return;  // that one's turn is this one's
  }
  thread_.run([this] { run_next(); });
}

void Aside::run_next() {
  std::function<void()> work;
  {
    const detail::Held lock(mutex_);
    work = std::exchange(next_, nullptr);
  }
  if (work) work();
}

}  // namespace weir::server
