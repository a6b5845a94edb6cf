// Another store that answers when it is told to, in the order in which it was asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace weir::inline v0_1::waiting {

class SlowStore final : public store::Store {
 public:
  explicit SlowStore(store::Store& inner, bool slow = true) : is_slow(slow), inner_(inner) {}
  void submit(std::span<store::Request* const> batch, store::Arrival when) override {
    if (!is_slow) return inner_.submit(batch, when);
    for (store::Request* const each : batch) {
      each->state = store::Request::State::submitted;
      asked.push_back(each);
      ++calls;
    }
  }
  void cancel(store::Request& pending) override {
    std::erase(asked, &pending);
    pending.state = store::Request::State::idle;
  }
  void give_back(const store::Request& charged, std::chrono::nanoseconds now) override {
    inner_.give_back(charged, now);
  }
  void answer(std::chrono::nanoseconds now) {
    for (store::Request* each : std::exchange(asked, {})) {
      inner_.submit({&each, 1}, {now, now});
      each->on_answer(*each);
    }
  }

  bool is_slow;
  std::vector<store::Request*> asked;
  std::size_t calls = 0;

 private:
  store::Store& inner_;
};

}  // namespace weir::waiting
