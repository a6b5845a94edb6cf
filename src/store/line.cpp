#include "store/line.hpp"

#include <algorithm>

namespace weir::store {

const Hole* Line::find_hole(std::uint64_t units, std::uint64_t interval, nanoseconds now,
                            nanoseconds latest) const {
  for (const Hole& hole : holes_) {
    if (hole.moment > latest) break;
    if (hole.moment > now && hole.units >= units && hole.interval == interval) return &hole;
  }
  return nullptr;
}

Hole Line::take(const Hole& from, std::uint64_t units) {
  const auto at = holes_.begin() + (&from - holes_.data());
  Hole taken = *at;
  if (taken.units == units) {
    holes_.erase(at);
    return taken;
  }
  taken.units = units;
  taken.whole.reset();
  at->units -= units;
  at->whole.reset();
  return taken;
}

bool Line::add_hole(const Hole& hole, nanoseconds now) {
  std::erase_if(holes_, [now](const Hole& each) { return each.moment <= now; });
  if (holes_.size() >= kMostHoles) return false;
  const auto later = [](nanoseconds moment, const Hole& each) { return moment < each.moment; };
  holes_.insert(std::upper_bound(holes_.begin(), holes_.end(), hole.moment, later), hole);
  return true;
}

std::optional<Hole> Line::take_last(core::TwoWords state, nanoseconds now) {
  const auto is_last = [&](const Hole& each) {
    return each.moment > now && each.whole && each.whole->after == state;
  };
  const auto found = std::find_if(holes_.begin(), holes_.end(), is_last);
  if (found == holes_.end()) return std::nullopt;
  const Hole last = *found;
  holes_.erase(found);
  return last;
}

void Line::close_hold(nanoseconds until, std::uint64_t units) {
  const auto found = std::find_if(holds_.begin(), holds_.end(), [&](const Hold& each) {
    return each.until == until && each.units == units;
  });
  if (found != holds_.end()) holds_.erase(found);
}

Line::nanoseconds Line::until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now) {
  if (at_most == ~std::uint64_t{0}) return nanoseconds{0};
  if (units > at_most) return nanoseconds{-1};
  std::erase_if(holds_, [now](const Hold& each) { return each.until <= now; });
  std::uint64_t open = 0;
  for (const Hold& each : holds_) open += std::min(each.units, at_most - std::min(open, at_most));
  if (open + units <= at_most) return nanoseconds{0};
  std::sort(holds_.begin(), holds_.end(), [](const Hold& a, const Hold& b) { return a.until < b.until; });
  for (const Hold& each : holds_) {
    open -= std::min(open, each.units);
    if (open + units <= at_most) return each.until - now;
  }
  return nanoseconds{-1};
}

}  // namespace weir::store
