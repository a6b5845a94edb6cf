// What operators change is written down, and what befalls the server is told to them.
//
// The program fills this in before its threads start; then any thread may use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "steering/change.hpp"
#include "steering/event.hpp"

namespace weir::inline v0_1::service {

struct Operators {
  // Writes down what one of them is about to change, before it is in force; false: it could not be written,
  // and must not happen. `done` is called once, by any thread, at once or later.
  std::function<void(steering::OperatorChange change, std::function<void(bool written)> done)> record =
      [](const steering::OperatorChange&, const std::function<void(bool)>& done) { done(true); };
  bool records_later = false;  // record() answers when it is written; else at once
  // What it has written, the newest first.
  std::function<std::vector<std::string>(std::size_t most)> recorded = [](std::size_t) {
    return std::vector<std::string>();
  };
  // Tells them of it; returns at once, and is not in the way of a decision.
  std::function<void(const steering::OperatorEvent&)> tell = [](const steering::OperatorEvent&) {};
  // Somebody listens to that: else nobody looks out for what befalls single keys.
  std::atomic<bool> wants_events{false};
};

}  // namespace weir::service
