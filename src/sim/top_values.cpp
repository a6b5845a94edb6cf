#include "sim/top_values.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace weir::inline v0_1::sim {

void TopValues::add(std::span<const std::string_view> values, std::uint32_t denied) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Counts& counts = counts_[i][std::string(values[i])];
    ++counts.requests;
    for (std::uint32_t left = denied; left != 0; left &= left - 1) {
      const auto limit = static_cast<std::size_t>(std::countr_zero(left));
      if (counts.denied.size() <= limit) counts.denied.resize(limit + 1);
      ++counts.denied[limit];
    }
  }
}

std::vector<Top> TopValues::of(std::size_t limit) const {
  std::vector<Top> all;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Top top{fields_[i], {}};
    for (const auto& [value, counts] : counts_[i]) {
      if (counts.denied.size() > limit && counts.denied[limit] > 0)
        top.values.push_back({value, counts.requests, counts.denied[limit]});
    }
    std::sort(top.values.begin(), top.values.end(), [](const Top::Value& a, const Top::Value& b) {
      return std::tie(b.denied, b.requests, a.value) < std::tie(a.denied, a.requests, b.value);
    });
    if (top.values.size() > kMost) top.values.resize(kMost);
    all.push_back(std::move(top));
  }
  return all;
}

}  // namespace weir::sim
