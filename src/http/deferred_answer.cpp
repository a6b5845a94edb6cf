#include "http/deferred_answer.hpp"

namespace weir::inline v0_1::http {

std::function<void(DeferredAnswer::Write)> DeferredAnswer::begin() {
  open_ = true;
  alive_ = std::make_shared<int>();
  return [this, post = post_, alive = std::weak_ptr<int>(alive_)](Write write) {
    post([this, alive, write = std::move(write)]() mutable {
      if (alive.expired()) return;
      write_ = std::move(write);
      open_ = false;
      resume_();
    });
  };
}

}  // namespace weir::http
