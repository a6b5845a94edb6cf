#include "server/aside.hpp"

#include <utility>

namespace weir::inline v0_1::server {

Aside::~Aside() {
  end();
  thread_.join();
}

void Aside::end() {
  const detail::Held lock(mutex_);
  ends_ = true;
  changed_.notify_one();
}

void Aside::run(std::function<void()> work) {
  {
    const detail::Held lock(mutex_);
    next_ = std::move(work);
  }
  changed_.notify_one();
}

void Aside::loop() {
  while (true) {
    std::function<void()> work;
    {
      const detail::Held lock(mutex_);
      while (!ends_ && !next_) changed_.wait(mutex_);
      if (ends_) return;
      work = std::exchange(next_, nullptr);
    }
    work();
  }
}

}  // namespace weir::server
