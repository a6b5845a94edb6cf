// Calls of somebody else's API under its quota, 20 a second, as coroutines of one thread:
//
//   asio_calls PORT COUNT MAX_WAIT_MS      COUNT calls of 127.0.0.1:PORT, all wanted at once
//
// Each reserves its moment and waits for it on a timer. What could not be made in time is known at once, and
// nothing was charged for it. The quota is this process's; for one of many processes ask a weir server
// instead.
#include <weir/asio_acquire.hpp>
#include <weir/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;

struct Partner {
  tcp::endpoint address;
  weir::Limiter quota{weir::Quota::per_second(20).with_burst(5)};
  std::chrono::milliseconds max_wait{0};
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

asio::awaitable<std::string> get(tcp::endpoint address, int number) {
  tcp::socket socket{co_await asio::this_coro::executor};
  co_await socket.async_connect(address, asio::use_awaitable);
  const std::string request =
      "GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: partner\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  const auto line =
      co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), "\r\n", asio::use_awaitable);
  co_return answer.substr(0, line - 2);
}

asio::awaitable<void> call(Partner& partner, int number) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  const auto mine = co_await weir::async_wait(timer, partner.quota.reserve({.max_wait = partner.max_wait}),
                                              asio::use_awaitable);
  if (!mine.granted()) {
    std::printf("%d: not made, it would be too late\n", number);
    co_return;
  }
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto now = std::chrono::steady_clock::now();
  const Milliseconds late = now.time_since_epoch() - mine.at();
  std::string answer;
  try {
    answer = co_await get(partner.address, number);
  } catch (const boost::system::system_error& error) {
    answer = error.what();  // the partner may have counted it, so its moment stays used
  }
  std::printf("%d: at %.3f ms, %.3f ms late: %s\n", number, Milliseconds{now - partner.began}.count(),
              late.count(), answer.c_str());
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: asio_calls PORT COUNT MAX_WAIT_MS\n", stderr);
    return 2;
  }
  Partner partner{
      .address = {asio::ip::address_v4::loopback(), static_cast<unsigned short>(std::atoi(argv[1]))},
      .max_wait = std::chrono::milliseconds{std::atoi(argv[3])}};
  asio::io_context context;  // after the limiter, which must outlive what waits in it
  for (int number = 0; number < std::atoi(argv[2]); ++number)
    asio::co_spawn(context, call(partner, number), asio::detached);
  context.run();
}
