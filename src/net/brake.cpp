#include "net/brake.hpp"

#include <algorithm>
#include <cstdint>

namespace weir::inline v0_1::net {

std::size_t Brake::sockets(nanoseconds now) {
  const std::size_t room = room_() / kPerSocket;
  forced_ = room == 0;
  if (!forced_) return std::min(room, kMost);
  return now >= look_again() ? 1 : 0;
}

void Brake::served(nanoseconds began, nanoseconds now) {
  if (!forced_) return;
  const nanoseconds waits = std::max({waited_, mark_ ? now - *mark_ : nanoseconds{0}, patience_});
  const double share = kHalfAt * static_cast<double>(patience_.count()) / static_cast<double>(waits.count());
  const double rest = share * share * static_cast<double>((now - began).count());
  rests_until_ = now + nanoseconds{static_cast<std::int64_t>(rest)};
}

Brake::nanoseconds Brake::look_again() const {
  if (waited_ >= patience_) return rests_until_;
  return mark_ ? std::max(*mark_ + patience_, rests_until_) : nanoseconds::max();
}

bool Brake::take_mark(nanoseconds now) {
  if (mark_) return false;
  mark_ = now;
  return true;
}

void Brake::mark_came(nanoseconds now) {
  if (mark_) waited_ = now - *mark_;
  mark_.reset();
}

}  // namespace weir::net
