#include "rls/holds.hpp"

#include <vector>

namespace weir::inline v0_1::rls {

void Holds::add(std::string id, std::chrono::nanoseconds ends_at) {
  const auto place = ends_.emplace(ends_at, std::move(id));
  if (place == ends_.begin() && wake_) wake_();
}

void Holds::end_due(std::chrono::nanoseconds now) {
  std::vector<service::HoldEnder::Hold> over;
  while (!ends_.empty() && ends_.begin()->first <= now && over.size() < service::HoldEnder::kAtOnce) {
    over.push_back({.id = std::move(ends_.begin()->second), .actual = 0});
    ends_.erase(ends_.begin());
  }
  if (!over.empty()) ender_.end(std::move(over));
}

std::optional<std::chrono::nanoseconds> Holds::next() const {
  if (ends_.empty()) return std::nullopt;
  return ends_.begin()->first;
}

void Holds::pack(core::Packing& to) const {
  for (const auto& [ends, id] : ends_) {
    to.number(static_cast<std::uint64_t>(ends.count()));
    to.text(id);
  }
}

}  // namespace weir::rls
