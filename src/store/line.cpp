#include "store/line.hpp"

#include <algorithm>

namespace weir::inline v0_1::store {

std::size_t Line::count_by(const Numbers& numbers) {
  if (numbers_ == numbers) return 0;
  numbers_ = numbers;
  const std::size_t lost = holes_.size();
  holes_.clear();
  return lost;
}

void Line::add_moment(nanoseconds moment, nanoseconds now) {
  moments_.erase(moments_.begin(), moments_.upper_bound(now));
  moments_.insert(moment);
}

void Line::remove_moment(nanoseconds moment) {
  if (const auto found = moments_.find(moment); found != moments_.end()) moments_.erase(found);
}

bool Line::is_anybody_ahead(nanoseconds now) {
  moments_.erase(moments_.begin(), moments_.upper_bound(now));
  return !moments_.empty();
}

const Hole* Line::find_hole(std::uint64_t units, nanoseconds now, nanoseconds latest) const {
  for (const Hole& hole : holes_) {
    if (hole.moment > latest) break;
    if (hole.moment > now && hole.units >= units) return &hole;
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
  taken.end -= at->units * at->numbers.interval;
  at->whole.reset();
  return taken;
}

bool Line::add_hole(const Hole& hole, nanoseconds now) {
  std::erase_if(holes_, [now](const Hole& each) { return each.moment <= now; });
  if (holes_.size() >= kMostHoles || hole.numbers != numbers_) return false;
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

std::uint64_t Line::open_hold(nanoseconds until, std::uint64_t units, std::uint64_t end, nanoseconds now) {
  if (holds_.size() >= many_holds_) {
    std::erase_if(holds_, [now](const Hold& each) { return each.until <= now; });
    many_holds_ = std::max<std::size_t>(16, 2 * holds_.size());
  }
  holds_.push_back({++last_hold_, until, units, end});
  return last_hold_;
}

bool Line::has_holds(nanoseconds now) const {
  return std::any_of(holds_.begin(), holds_.end(), [now](const Hold& each) { return each.until > now; });
}

std::uint64_t Line::close_hold(std::uint64_t number) {
  const auto found =
      std::lower_bound(holds_.begin(), holds_.end(), number,
                       [](const Hold& each, std::uint64_t which) { return each.number < which; });
  if (found == holds_.end() || found->number != number) return 0;
  const std::uint64_t end = found->end;
  holds_.erase(found);
  return end;
}

void Line::move_up(std::uint64_t end, std::uint64_t by) {
  for (Hold& each : holds_)
    if (each.end > end) each.end -= std::min(by, each.end);
}

Line::nanoseconds Line::until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now) {
  if (at_most == ~std::uint64_t{0}) return nanoseconds{0};
  if (units > at_most) return nanoseconds{-1};
  std::erase_if(holds_, [now](const Hold& each) { return each.until <= now; });
  std::uint64_t open = 0;
  for (const Hold& each : holds_) open += std::min(each.units, at_most - std::min(open, at_most));
  if (open + units <= at_most) return nanoseconds{0};
  std::vector<Hold> by_end = holds_;
  std::sort(by_end.begin(), by_end.end(), [](const Hold& a, const Hold& b) { return a.until < b.until; });
  for (const Hold& each : by_end) {
    open -= std::min(open, each.units);
    if (open + units <= at_most) return each.until - now;
  }
  return nanoseconds{-1};
}

}  // namespace weir::store
