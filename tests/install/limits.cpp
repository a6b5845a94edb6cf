#include <weir/acquire.hpp>
#include <weir/limiter.hpp>

#include <chrono>
#include <string>

int main() {
  weir::Limiter limiter{weir::Quota::per_minute(1)};
  if (!limiter.check().allowed() || limiter.check().allowed()) return 1;
  weir::Reservation next = limiter.reserve({.max_wait = std::chrono::minutes{1}});
  if (!next.granted() || next.cancel() != 1) return 1;
  limiter.set_quota(weir::Quota::of("5/min"));
  if (limiter.check(weir::Cost{0}).remaining != 4) return 1;
  const weir::expected<weir::Quota, std::string> none = weir::Quota::parse("5 per moon");
  if (none || none.error().empty()) return 1;
  return weir::acquire(limiter, {.max_wait = std::chrono::seconds{1}}, {}, weir::Cost{5}).granted() ? 1 : 0;
}
