// A coroutine of Boost.Asio that awaits a shared limit, reserves its next moment and gives it back. The store
// is the first argument.
#include <weir/asio.hpp>
#include <weir/redis.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace asio = boost::asio;

asio::awaitable<void> serve(weir::SharedLimiter& per_user) {
  try {
    for (int i = 1; i <= 3; ++i) {
      const weir::Decision d = co_await per_user.check("user:42", asio::use_awaitable);
      std::printf("%d %s\n", i, d.allowed() ? "allowed" : "denied");
    }
    using std::chrono_literals::operator""h;
    weir::Reservation next = co_await per_user.reserve("user:42", {.max_wait = 1h}, asio::use_awaitable);
    const std::uint64_t units = co_await next.cancel(asio::use_awaitable);
    std::printf("gave %d back\n", static_cast<int>(units));
  } catch (const weir::StoreFault& fault) {
    std::printf("%s\n", fault.what());
  }
}

int main(int argc, char** argv) {
  weir::RedisStore store{argc > 1 ? argv[1] : "memory:"};
  weir::SharedLimiter per_user{weir::Quota::per_hour(2), store};
  asio::io_context context;
  asio::co_spawn(context, serve(per_user), asio::detached);
  context.run();
}
