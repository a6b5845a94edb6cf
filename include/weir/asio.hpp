// Completion tokens of Boost.Asio for SharedLimiter::check(), 1.74 and later:
//
//   weir::Decision d = co_await per_user.check(user_id, asio::use_awaitable);
//   std::future<weir::Decision> later = per_user.check(user_id, weir::Cost{3}, asio::use_future);
//
// The handler's signature is void(std::exception_ptr, weir::Decision): a StoreFault, or null and the
// decision. It runs on its own executor, never inside check(), and keeps that executor's work until then. It
// cannot be cancelled: the deadline ends it. Include this where such a token is passed; it needs Boost's
// headers.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/redis.hpp"

namespace weir::detail {

template <class Token>
auto check_by_token(ByToken, const SharedLimiter& limiter, std::string key, const Quota& quota, Cost cost,
                    Token&& token) {
  namespace asio = boost::asio;
  // A token may begin later than it is passed, as use_awaitable does: everything is held by value.
  auto begin = [limiter = SharedLimiter(limiter), key = std::move(key), quota, cost](auto&& handler) mutable {
    auto executor = asio::get_associated_executor(handler);
    auto work = asio::make_work_guard(executor);
    limiter.check(key, quota, cost,
                  [handler = std::forward<decltype(handler)>(handler), executor,
                   work = std::move(work)](SharedResult result) mutable {
                    asio::post(executor,
                               [handler = std::move(handler), result = std::move(result)]() mutable {
                                 if (result) return std::move(handler)(std::exception_ptr(), *result);
                                 std::move(handler)(std::make_exception_ptr(result.error()), Decision{});
                               });
                    work.reset();
                  });
  };
  return asio::async_initiate<Token, void(std::exception_ptr, Decision)>(std::move(begin), token);
}

}  // namespace weir::detail
