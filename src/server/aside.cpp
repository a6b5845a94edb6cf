#include "server/aside.hpp"

#include <utility>

namespace weir::inline v0_1::server {

Aside::~Aside() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Aside::run(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    next_ = std::move(work);
  }
  changed_.notify_one();
}

void Aside::loop() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || next_; });
      if (ends_) return;
      work = std::exchange(next_, nullptr);
    }
    work();
  }
}

}  // namespace weir::server
