// Coroutines of Boost.Asio that wait for their moments in one thread, and a callback that is cancelled.
#include <weir/asio_acquire.hpp>
#include <weir/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct Counts {
  int sent = 0;
  int denied = 0;
};

asio::awaitable<void> send(weir::Limiter& limiter, Counts& counts) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  const auto mine = co_await weir::async_wait(timer, limiter.reserve({.max_wait = 10s}), asio::use_awaitable);
  ++(mine.granted() ? counts.sent : counts.denied);
}

int main() {
  weir::Limiter limiter{weir::Quota::per_second(50).with_burst(2)};
  weir::Limiter slow{weir::Quota::per_hour(1)};
  Counts counts;
  asio::io_context context;  // after the limiters, which must outlive what waits in it
  for (int job = 0; job < 5; ++job) asio::co_spawn(context, send(limiter, counts), asio::detached);
  // The first acts now; the second would have to wait for an hour, and is denied at once.
  for (int job = 0; job < 2; ++job) asio::co_spawn(context, send(slow, counts), asio::detached);
  context.run();
  std::printf("%d sent, %d denied\n", counts.sent, counts.denied);

  context.restart();
  asio::steady_timer timer{context};
  weir::async_wait(timer, slow.reserve({.max_wait = 2h}),
                   [](weir::Reservation mine) { std::puts(mine.granted() ? "sent" : "cancelled"); });
  asio::post(context, [&] { timer.cancel(); });
  context.run();
  // Its hour is free again.
  std::puts(slow.reserve({.max_wait = 1h}).granted() ? "granted" : "denied");

  // What waits when the loop goes gives its moments up.
  {
    asio::io_context gone;
    asio::co_spawn(gone, send(limiter, counts), asio::detached);
    asio::steady_timer unused{gone};
    weir::async_wait(unused, slow.reserve({.max_wait = 2h}), [](weir::Reservation) { std::puts("never"); });
  }
  std::puts(slow.reserve({.max_wait = 1h}).granted() ? "granted" : "denied");
}
