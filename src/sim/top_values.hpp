// Which values some fields had in the requests that limits denied: paths, agents.
//
// One thread. Memory grows with the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

class TopValues {
 public:
  explicit TopValues(std::vector<std::string> fields) : fields_(std::move(fields)), counts_(fields_.size()) {}

  // `values`: of the fields, a null view where the request lacks one. `denied`: one bit for each limit.
  void add(std::span<const std::string_view> values, std::uint32_t denied);
  // For each field the values that a limit denied most.
  std::vector<Top> of(std::size_t limit) const;

 private:
  static constexpr std::size_t kMost = 10;
  struct Counts {
    std::uint64_t requests = 0;
    std::vector<std::uint64_t> denied;  // by each limit
  };

  std::vector<std::string> fields_;
  std::vector<std::unordered_map<std::string, Counts>> counts_;  // of each field
};

}  // namespace weir::sim
