// With a Redis that is not there, the embedded store decides.
#include <weir/redis.hpp>

int main() {
  weir::RedisStore store{"redis+unix:///no/such/socket"};
  weir::SharedLimiter limiter{weir::Quota::per_hour(1), store};
  return limiter.check("key").allowed() && !limiter.check("key").allowed() ? 0 : 1;
}
