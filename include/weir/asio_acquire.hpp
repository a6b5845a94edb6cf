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
// time. It runs by the steady clock and the moment by the limiter's: a ManualClock ends the wait when it is
// advanced to the moment, for which the handler's executor must be a loop of one thread or a strand; with
// another Clock of the program's own the timer is set again for what is left. Include this where such a token
// is passed; it needs Boost's headers, and weir::weir alone.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <type_traits>
#include <utility>

#include "weir/clock.hpp"
#include "weir/lock.hpp"
#include "weir/reservation.hpp"

namespace weir::inline v0_1 {
namespace detail {

// Ends the wait of a timer when the clock has come to the moment. Lives as long as the timer waits.
class WakeUp : public std::enable_shared_from_this<WakeUp> {
 public:
  template <class Executor>
  WakeUp(boost::asio::steady_timer& timer, const Executor& executor)
      : timer_(timer), alarm_([this, executor] {
          boost::asio::post(executor, [waits = weak_from_this()] {
            if (const auto wake_up = waits.lock()) wake_up->change(&WakeUp::rung_);
          });
        }) {}
  bool set_by(const Reservation& reservation) { return reservation.set(alarm_); }
  void begun() { change(&WakeUp::begun_); }

 private:
  // It may ring before the timer waits, and the timer be set by another thread than the executor's.
  void change(bool WakeUp::* which) {
    const Held lock(mutex_);
    this->*which = true;
    if (begun_ && rung_) timer_.cancel();
  }

  boost::asio::steady_timer& timer_;
  Mutex mutex_;
  bool begun_ WEIR_GUARDED_BY(mutex_) = false;
  bool rung_ WEIR_GUARDED_BY(mutex_) = false;
  Alarm alarm_;
};

template <class Handler>
void wait_by(boost::asio::steady_timer& timer, Reservation reservation, Handler handler) {
  const auto executor = boost::asio::get_associated_executor(handler, timer.get_executor());
  if (const auto left = reservation.left(); reservation.granted() && left.count() > 0) {
    auto wake_up = std::make_shared<WakeUp>(timer, executor);
    if (wake_up->set_by(reservation)) {
      timer.expires_at(boost::asio::steady_timer::time_point::max());
    } else {
      timer.expires_after(left);
    }
    const std::weak_ptr<WakeUp> waits = wake_up;
    timer.async_wait(boost::asio::bind_executor(
        executor, [&timer, reservation = std::move(reservation), handler = std::move(handler),
                   wake_up = std::move(wake_up)](const boost::system::error_code& error) mutable {
          wake_up.reset();
          if (error) reservation.cancel();
          if (!reservation.granted() || reservation.left().count() == 0)
            return std::move(handler)(std::move(reservation));
          wait_by(timer, std::move(reservation), std::move(handler));
        }));
    if (const auto still = waits.lock()) still->begun();
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
