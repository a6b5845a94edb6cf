// A shared library of somebody else's, which limits inside and shows one function.
#include <weir/acquire.hpp>
#include <weir/format.hpp>
#include <weir/limiter.hpp>

#include <chrono>
#include <string>

extern "C" int plugin_test() {
  weir::ManualClock clock;
  weir::LocalStore store{{.clock = &clock}};
  weir::KeyedLimiter users{weir::Quota::per_minute(1), store};
  weir::KeyedLimiter tenants{weir::Quota::per_minute(2), store};
  if (!store.check_all({{users, "user"}, {tenants, "tenant"}}).allowed()) return 1;
  const weir::Decision denied = users.check("user");
  if (denied.allowed() || weir::to_text(denied).empty()) return 1;
  weir::Limiter limiter{weir::Quota::per_minute(1), clock};
  if (!weir::acquire(limiter, {.max_wait = std::chrono::minutes{1}}).granted()) return 1;
  return limiter.reserve({.max_wait = std::chrono::minutes{1}}).granted() ? 0 : 1;
}
