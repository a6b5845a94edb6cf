// Which lines of a log are asked about: those with certain values, of a certain time.
//
// Values; any thread. Not for: the order of the log, in which the others keep their place.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// `status!=429`, `path=/v1/*`, `bytes>=1000000`.
struct FieldCondition {
  enum class Compares : std::uint8_t { equal, unequal, less, greater, at_most, at_least };

  // Throws std::runtime_error.
  static FieldCondition parse(std::string_view text);
  // A field that a line lacks is an empty text, and no number.
  bool holds(std::string_view value) const;

  std::string field;
  Compares compares = Compares::equal;
  std::string value;  // equal, unequal: a pattern (core/pattern.hpp)
  double number = 0;  // of the others
};

struct Filter {
  std::vector<FieldCondition> where;  // all must hold
  std::int64_t since_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();  // not included

  // `values`: of the conditions' fields, in their order.
  bool takes(std::int64_t ns, std::span<const std::string_view> values) const {
    if (ns < since_ns || ns >= until_ns) return false;
    for (std::size_t i = 0; i < where.size(); ++i) {
      if (!where[i].holds(values[i])) return false;
    }
    return true;
  }
};

}  // namespace weir::logs
