// Waiting for the moment of a reservation in an event loop of Boost.Asio, 1.74 and later, with any completion
// token:
//
//   asio::steady_timer timer{co_await asio::this_coro::executor};
//   auto mine = co_await weir::async_wait(timer, limiter.reserve({.max_wait = 5s}), asio::use_awaitable);
//   if (mine.granted()) act();
//
// The handler's signature is void(weir::Reservation): granted() says whether it may act now. It runs by the
// timer's executor, never inside async_wait(). A reservation that was not granted comes back without waiting.
// timer.cancel() cancels the reservation, exactly once; so does the end of the loop or of the coroutine,
// which destroys it before its moment.
//
// Threads: as the timer's. The timer belongs to the caller, must outlive the wait, and is for one wait at a
// time. It runs by the steady clock and the moment by the limiter's: with a Clock of the program's own the
// timer is set again for what is left. Not of a reservation that a twin (reserve_at()) made. Include this
// where such a token is passed; it needs Boost's headers, and weir::weir alone.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <type_traits>
#include <utility>

#include "weir/reservation.hpp"

namespace weir {
namespace detail {

template <class Handler>
void wait_by(boost::asio::steady_timer& timer, Reservation reservation, Handler handler) {
  const auto executor = boost::asio::get_associated_executor(handler, timer.get_executor());
  if (const auto left = reservation.left(); reservation.granted() && left.count() > 0) {
    timer.expires_after(left);
    timer.async_wait(boost::asio::bind_executor(
        executor, [&timer, reservation = std::move(reservation),
                   handler = std::move(handler)](const boost::system::error_code& error) mutable {
          if (error) reservation.cancel();
          if (!reservation.granted() || reservation.left().count() == 0)
            return std::move(handler)(std::move(reservation));
          wait_by(timer, std::move(reservation), std::move(handler));
        }));
    return;
  }
  boost::asio::post(executor, [reservation = std::move(reservation), handler = std::move(handler)]() mutable {
    std::move(handler)(std::move(reservation));
  });
}

}  // namespace detail

template <class Token>
auto async_wait(boost::asio::steady_timer& timer, Reservation reservation, Token&& token) {
  auto begin = [&timer, reservation = std::move(reservation)](auto&& handler) mutable {
    detail::wait_by(timer, std::move(reservation),
                    std::decay_t<decltype(handler)>(std::forward<decltype(handler)>(handler)));
  };
  return boost::asio::async_initiate<Token, void(Reservation)>(std::move(begin), token);
}

}  // namespace weir
