#include <weir/limiter.hpp>

int main() {
  weir::Limiter limiter{weir::Quota::per_minute(1)};
  return limiter.check().allowed() && !limiter.check().allowed() ? 0 : 1;
}
