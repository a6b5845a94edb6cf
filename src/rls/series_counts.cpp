#include "rls/series_counts.hpp"

#include <utility>

namespace weir::inline v0_1::rls {

void SeriesCounts::adopt(const std::shared_ptr<const limits::Descriptors>& trees) {
  if (trees == of_) return;
  of_ = trees;
  rows_.clear();
  const detail::Held lock(mutex_);
  auto before = std::exchange(by_name_, {});
  if (!trees) return;
  for (const std::string& name : trees->series()) {
    auto found = before.find(name);
    auto row = found != before.end() ? std::move(found->second) : std::make_unique<Numbers>();
    rows_.push_back(row.get());
    by_name_.emplace(name, std::move(row));
  }
}

void SeriesCounts::add_to(Total& total) const {
  const detail::Held lock(mutex_);
  for (const auto& [name, row] : by_name_) {
    Row<std::uint64_t>& sum = total[name];
    for (std::size_t i = 0; i < kSaid.size(); ++i) {
      sum.decisions[i] += row->decisions[i].load(std::memory_order_relaxed);
      sum.hits[i] += row->hits[i].load(std::memory_order_relaxed);
    }
    sum.near += row->near.load(std::memory_order_relaxed);
    sum.remembered += row->remembered.load(std::memory_order_relaxed);
  }
}

}  // namespace weir::rls
