// What a store holds of a request that it has not answered: the way to the request, which its asker may
// cancel; and the answer's way to the asker.
//
// The request points back to its ticket, wherever that moves, so cancelling looks for nothing. One thread;
// the request is the asker's and stays in place.
#pragma once

#include <utility>

#include "store/store.hpp"

namespace weir::inline v0_1::redis {

class Ticket {
 public:
  Ticket() = default;  // nobody's
  explicit Ticket(store::Request& request) : request_(&request) { request.ticket = this; }
  Ticket(Ticket&& other) noexcept : request_(other.take()) { point_here(); }
  Ticket& operator=(Ticket&& other) noexcept {
    if (this != &other) {
      take();
      request_ = other.take();
      point_here();
    }
    return *this;
  }
  ~Ticket() { take(); }

  // The request, from now on without a ticket; null when it has been cancelled or taken.
  store::Request* take() {
    if (request_ != nullptr) request_->ticket = nullptr;
    return std::exchange(request_, nullptr);
  }
  bool cancelled() const { return request_ == nullptr; }
  store::Request* request() const { return request_; }

  static void cancel(store::Request& request) {
    if (request.state != store::Request::State::submitted) return;
    static_cast<Ticket*>(request.ticket)->take();
    request.state = store::Request::State::idle;
  }

 private:
  void point_here() {
    if (request_ != nullptr) request_->ticket = this;
  }

  store::Request* request_ = nullptr;
};

// The request has its answer. Inside submit() the asker looks at the state; after it, the asker is called.
inline void finish(store::Request& request) {
  const bool later = request.state == store::Request::State::submitted;
  request.state = store::Request::State::answered;
  if (later) request.on_answer(request);
}

}  // namespace weir::redis
