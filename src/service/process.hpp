// What a command or a page can ask of the program itself.
//
// The program fills this in before its threads start; then any thread may use it, and each returns at once.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "service/server_status.hpp"

namespace weir::inline v0_1::service {

struct Process {
  std::function<void(bool save)> shut_down = [](bool) {};  // with or without a last snapshot
  std::atomic<bool> leaving{false};                        // it will stop accepting before long
  // Begins a snapshot; and when the last one was, on the wall clock.
  std::function<void()> save_soon = [] {};
  std::function<std::chrono::seconds()> last_saved = [] { return std::chrono::seconds{0}; };
  std::function<ServerStatus()> status = [] { return ServerStatus(); };
};

}  // namespace weir::service
