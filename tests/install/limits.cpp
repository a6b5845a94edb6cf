#include <weir/acquire.hpp>
#include <weir/limiter.hpp>

#include <chrono>

int main() {
  weir::Limiter limiter{weir::Quota::per_minute(1)};
  if (!limiter.check().allowed() || limiter.check().allowed()) return 1;
  weir::Reservation next = limiter.reserve({.max_wait = std::chrono::minutes{1}});
  if (!next.granted() || next.cancel() != 1) return 1;
  return weir::acquire(limiter, {.max_wait = std::chrono::seconds{1}}).granted() ? 1 : 0;
}
