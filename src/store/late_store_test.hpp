// A store for tests of what asks: it answers when the test says so.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

class LateStore final : public Store {
 public:
  explicit LateStore(Store& inner) : inner_(inner) {}
  void submit(std::span<Request* const> batch, Arrival) override {
    ++batches;
    for (Request* each : batch) {
      each->state = Request::State::submitted;
      kept.push_back(each);
      patience.push_back(each->patience);
      // The keys' bytes are the asker's again when this returns.
      keys.emplace_back();
      for (const Check& check : each->checks) keys.back().emplace_back(check.key);
    }
  }
  void cancel(Request& pending) override {
    pending.state = Request::State::idle;
    std::erase(kept, &pending);
    ++cancelled;
  }
  void give_back(const Request&, std::chrono::nanoseconds) override {}

  void answer(std::size_t i, Fault fault = Fault::none) {
    Request& request = *kept[i];
    for (std::size_t n = 0; n < request.checks.size(); ++n) request.checks[n].key = keys[i][n];
    Request* one[] = {&request};
    inner_.submit(one, {std::chrono::seconds{1000}, std::chrono::seconds{1000}});
    if (fault != Fault::none) {
      request.fault = fault;
      request.why = "gone \x1b";
    }
    request.on_answer(request);
  }

  std::vector<Request*> kept;
  std::vector<std::vector<std::string>> keys;
  std::vector<std::chrono::nanoseconds> patience;
  int batches = 0;
  int cancelled = 0;

 private:
  Store& inner_;
};

}  // namespace weir::store
