// What an operator sees of a server at a glance.
//
// A plain value, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::inline v0_1::service {

struct ServerStatus {
  struct Store {
    bool up = false;
    std::string why{};                  // it is not
    std::chrono::nanoseconds since{0};  // that it is so, on the wall clock; 0: since the start
    std::vector<std::pair<std::string, std::uint64_t>> causes{};  // what it has not done, and how often
  };

  bool draining = false;
  std::uint64_t connections = 0;
  std::uint64_t waiters = 0;
  std::optional<Store> store{};  // nothing: there is none
};

}  // namespace weir::service
