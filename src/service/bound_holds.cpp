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

void BoundHolds::pack(core::Packing& to) const {
  to.number(holds_.size());
  for (const Held& each : holds_) {
    to.text(each.hold.id);
    to.number(each.hold.may_wait ? 1 : 0);
    to.number(static_cast<std::uint64_t>(each.time.count()));
    to.number(static_cast<std::uint64_t>(each.ends.count()));
  }
}

// Both processes go by the clock of one machine.
void BoundHolds::take_over(core::Unpacking& from) {
  for (std::uint64_t left = from.count(); left > 0 && from.good(); --left) {
    Held held;
    held.hold.id = from.text();
    held.hold.may_wait = from.number() != 0;
    held.time = nanoseconds{static_cast<std::int64_t>(from.number())};
    held.ends = nanoseconds{static_cast<std::int64_t>(from.number())};
    holds_.push_back(std::move(held));
    by_id_.emplace(holds_.back().hold.id, std::prev(holds_.end()));
  }
}

void BoundHolds::leave() {
  by_id_.clear();
  holds_.clear();
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
