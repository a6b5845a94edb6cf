// Completion tokens of Boost.Asio for SharedLimiter::check(), 1.74 and later:
//
//   weir::Decision d = co_await per_user.check(user_id, asio::use_awaitable);
//   std::future<weir::Decision> later = per_user.check(user_id, weir::Cost{3}, asio::use_future);
//
// The handler's signature is void(std::exception_ptr, weir::Decision): a StoreFault, or null and the
// decision. It runs on its own executor, never inside check(), and keeps that executor's work until then. It
// cannot be cancelled: the deadline ends it. An event loop may go before: the handlers that wait for a
// decision go with it, without being called, and what was charged stays charged. An executor that belongs to
// no execution context of Asio must live until its handlers have run.
//
// Include this where such a token is passed; it needs Boost's headers.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/lock.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::detail {

// A check whose handler has not been passed to its event loop yet.
class PendingCheck {
 public:
  virtual ~PendingCheck() = default;
  // Destroys the handler, which was not called.
  virtual void abandon() = 0;
};

// The checks whose handlers belong to one event loop, while it lives. Any thread.
class PendingChecks {
 public:
  void add(std::shared_ptr<PendingCheck> check) {
    const Held lock(mutex_);
    pending_.insert(std::move(check));
  }
  // Calls `pass` with the loop alive until it returns, unless the check was abandoned.
  void remove(const std::shared_ptr<PendingCheck>& check, const std::function<void()>& pass) {
    const Held lock(mutex_);
    if (pending_.erase(check) != 0) pass();
  }
  void abandon_all() {
    std::set<std::shared_ptr<PendingCheck>> abandoned;
    {
      const Held lock(mutex_);
      abandoned.swap(pending_);
    }
    for (const auto& check : abandoned) check->abandon();
  }

 private:
  Mutex mutex_;
  std::set<std::shared_ptr<PendingCheck>> pending_ WEIR_GUARDED_BY(mutex_);
};

// Told by an event loop that it goes, while its executors may still be used.
class LoopWatch final : public boost::asio::execution_context::service {
 public:
  using key_type = LoopWatch;
  static inline boost::asio::execution_context::id id;
  explicit LoopWatch(boost::asio::execution_context& loop) : service(loop) {}

  // Those of the loop of an executor.
  template <class Executor>
  static std::shared_ptr<PendingChecks> checks_of(const Executor& executor) {
    namespace asio = boost::asio;
    using Loop = asio::execution::context_as_t<asio::execution_context&>;
    if constexpr (asio::can_query<const Executor&, Loop>::value) {
      return asio::use_service<LoopWatch>(asio::query(executor, Loop())).checks_;
    } else if constexpr (requires { static_cast<asio::execution_context&>(executor.context()); }) {
      return asio::use_service<LoopWatch>(static_cast<asio::execution_context&>(executor.context())).checks_;
    } else {
      return std::make_shared<PendingChecks>();
    }
  }

 private:
  void shutdown() override { checks_->abandon_all(); }

  const std::shared_ptr<PendingChecks> checks_ = std::make_shared<PendingChecks>();
};

template <class Handler, class Executor>
class CheckOf final : public PendingCheck {
 public:
  CheckOf(Handler handler, const Executor& executor)
      : waiting_(std::in_place, std::move(handler), boost::asio::make_work_guard(executor)) {}
  void abandon() override { waiting_.reset(); }
  void pass(SharedResult result) {
    boost::asio::post(waiting_->work.get_executor(),
                      [handler = std::move(waiting_->handler), result = std::move(result)]() mutable {
                        if (result) return std::move(handler)(std::exception_ptr(), *result);
                        std::move(handler)(std::make_exception_ptr(result.error()), Decision{});
                      });
    waiting_.reset();
  }

 private:
  struct Waiting {
    Waiting(Handler its_handler, boost::asio::executor_work_guard<Executor> its_work)
        : handler(std::move(its_handler)), work(std::move(its_work)) {}
    Handler handler;
    boost::asio::executor_work_guard<Executor> work;
  };
  std::optional<Waiting> waiting_;
};

template <class Token>
auto check_by_token(ByToken, const SharedLimiter& limiter, std::string key, const Quota& quota, Cost cost,
                    Token&& token) {
  namespace asio = boost::asio;
  // A token may begin later than it is passed, as use_awaitable does: everything is held by value.
  auto begin = [limiter = SharedLimiter(limiter), key = std::move(key), quota, cost](auto&& handler) mutable {
    const auto executor = asio::get_associated_executor(handler);
    using Executor = std::remove_const_t<decltype(executor)>;
    using Check = CheckOf<std::decay_t<decltype(handler)>, Executor>;
    const auto checks = LoopWatch::checks_of(executor);
    const auto check = std::make_shared<Check>(std::forward<decltype(handler)>(handler), executor);
    checks->add(check);
    try {
      limiter.check(key, quota, cost, [checks, check](SharedResult result) {
        checks->remove(check, [&] { check->pass(std::move(result)); });
      });
    } catch (...) {
      checks->remove(check, [] {});
      throw;
    }
  };
  return asio::async_initiate<Token, void(std::exception_ptr, Decision)>(std::move(begin), token);
}

}  // namespace weir::detail
