#include "server/in_turn.hpp"

#include <utility>

namespace weir::inline v0_1::server {

InTurn::~InTurn() {
  end();
  thread_.join();
}

void InTurn::end() {
  const detail::Held lock(mutex_);
  ends_ = true;
  changed_.notify_one();
}

void InTurn::run(std::function<void()> work) {
  {
    const detail::Held lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void InTurn::loop() {
  while (true) {
    std::function<void()> work;
    {
      const detail::Held lock(mutex_);
      while (!ends_ && waiting_.empty()) changed_.wait(mutex_);
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace weir::server
