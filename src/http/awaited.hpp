// A value that another thread finds out for a connection, which waits for it.
//
// One connection's, on the thread of its loop. Destroying it forgets what was asked. Not for: what a store
// answers (service/asking.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace weir::inline v0_1::http {

// Calls it in a later turn of a loop; any thread.
using Post = std::function<void(std::function<void()>)>;

template <class Value>
class Awaited {
 public:
  // `post` is the loop's; `resume` is called when the value has come.
  Awaited(Post post, std::function<void()> resume) : post_(std::move(post)), resume_(std::move(resume)) {}

  bool possible() const { return post_ != nullptr; }
  // It waits from now on. Returns what is to be called with the value, once, by any thread, at once or later.
  std::function<void(Value)> begin() {
    open_ = true;
    alive_ = std::make_shared<int>();
    return [this, post = post_, alive = std::weak_ptr<int>(alive_)](Value value) {
      post([this, alive, value = std::move(value)]() mutable {
        if (alive.expired()) return;
        value_ = std::move(value);
        open_ = false;
        resume_();
      });
    };
  }
  bool waiting() const { return open_; }
  bool answered() const { return value_.has_value(); }
  // Nothing: it has not been answered, or that was taken.
  std::optional<Value> take() { return std::exchange(value_, std::nullopt); }

 private:
  Post post_;
  std::function<void()> resume_;
  std::shared_ptr<int> alive_;
  std::optional<Value> value_;
  bool open_ = false;
};

}  // namespace weir::http
