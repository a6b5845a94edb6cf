// A header of somebody else's that names weir's classes, and what defines them after it.
#include <weir/forward.hpp>

bool allowed(weir::Limiter& limiter);

#include <weir/limiter.hpp>
#include <weir/version.hpp>

#if WEIR_VERSION_NUMBER < 100 || WEIR_VERSION_MAJOR != 0
#error "weir/version.hpp says another version"
#endif

bool allowed(weir::Limiter& limiter) { return limiter.check().allowed(); }

int main() {
  weir::v0_1::Limiter limiter{weir::Quota::per_minute(1)};
  return allowed(limiter) && !allowed(limiter) ? 0 : 1;
}
