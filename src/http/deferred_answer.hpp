// An answer that needs another thread: one that reads a file, writes one, or asks the store for something
// that is no decision.
//
// One connection's, on the thread of its loop. Destroying it forgets what was asked.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "http/writer.hpp"

namespace weir::inline v0_1::http {

class DeferredAnswer {
 public:
  using Post = std::function<void(std::function<void()>)>;
  using Write = std::function<void(Reply&)>;

  // `post` is the loop's; `resume` is called when the answer has come.
  DeferredAnswer(Post post, std::function<void()> resume)
      : post_(std::move(post)), resume_(std::move(resume)) {}

  bool possible() const { return post_ != nullptr; }
  // The conversation waits from now on. Returns what is to be called with what writes the answer, once, by
  // any thread, at once or later.
  std::function<void(Write)> begin();
  bool waiting() const { return open_; }
  bool answered() const { return !open_ && write_ != nullptr; }
  void write(Reply& to) { std::exchange(write_, nullptr)(to); }

 private:
  Post post_;
  std::function<void()> resume_;
  std::shared_ptr<int> alive_;
  Write write_;
  bool open_ = false;
};

}  // namespace weir::http
