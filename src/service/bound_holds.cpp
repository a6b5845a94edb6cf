#include "service/bound_holds.hpp"

#include <iterator>
#include <utility>
#include <vector>

namespace weir::inline v0_1::service {

using std::chrono::nanoseconds;

BoundHolds::~BoundHolds() {
  std::vector<HoldEnder::Hold> left;
  left.reserve(holds_.size());
  for (Held& each : holds_) left.push_back(std::move(each.hold));
  ender_.end(std::move(left));
}

void BoundHolds::add(std::string_view id, bool may_wait, nanoseconds time, nanoseconds now) {
  look_at_oldest(now);
  look_at_oldest(now);
  holds_.push_back({{std::string(id), may_wait}, time, now + time});
  by_id_.emplace(holds_.back().hold.id, std::prev(holds_.end()));
}

void BoundHolds::drop(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const auto held = found->second;
  by_id_.erase(found);
  holds_.erase(held);
}

void BoundHolds::look_at_oldest(nanoseconds now) {
  if (holds_.empty()) return;
  holds_.splice(holds_.end(), holds_, holds_.begin());
  Held& oldest = holds_.back();
  if (oldest.ends > now) return;
  oldest.ends = now + oldest.time;  // one that was extended is asked about again then
  const std::string id = oldest.hold.id;
  ender_.look(id, [self = std::weak_ptr(self_), id](bool is_open) {
    if (const auto alive = self.lock(); alive && !is_open) (*alive)->drop(id);
  });
}

}  // namespace weir::service
