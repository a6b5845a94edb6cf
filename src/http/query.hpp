// The query of a target: names and values, decoded.
//
// Pure, any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/problem.hpp"

namespace weir::inline v0_1::http {

class Query {
 public:
  // Only names that are `known` may stand in it, each once; what is wrong is added to `faults`.
  Query(std::string_view text, std::span<const std::string_view> known, Faults& faults);

  const std::string* find(std::string_view name) const;  // null: it is not there
  // A number from `least` to `most`; `otherwise` where it is not there or wrong.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                       std::uint64_t most, Faults& faults) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace weir::http
