// Completion tokens of Boost.Asio, 1.74 and later, for every call that takes what to call when it is answered
// (weir/completion.hpp): of a SharedLimiter, a RedisStore, weir::Limits and a Reservation.
//
//   weir::Decision d = co_await per_user.check(user_id, asio::use_awaitable);
//   std::future<weir::Decision> later = per_user.check(user_id, weir::Cost{3}, asio::use_future);
//   weir::Reservation mine = co_await per_user.reserve(user_id, {.max_wait = 5s}, asio::use_awaitable);
//   std::uint64_t units = co_await mine.cancel(asio::use_awaitable);
//
// The handler's signature is void(std::exception_ptr, Value): a StoreFault, or null and the value. It runs on
// its own executor, never inside the call, and keeps that executor's work until then. It cannot be cancelled:
// the deadline ends it. An event loop may go before: the handlers that wait for an answer go with it, without
// being called, and what was charged stays charged, but for a reservation, which is cancelled. An executor
// that belongs to no execution context of Asio must live until its handlers have run.
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

#include "weir/callback.hpp"
#include "weir/completion.hpp"
#include "weir/lock.hpp"
#include "weir/store_fault.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::detail {

// A call whose handler has not been passed to its event loop yet.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  // Destroys the handler, which was not called.
  virtual void abandon() = 0;
};

// The calls whose handlers belong to one event loop, while it lives. Any thread.
class PendingCalls {
 public:
  void add(std::shared_ptr<PendingCall> call) {
    const Held lock(mutex_);
    pending_.insert(std::move(call));
  }
  // Calls `pass` with the loop alive until it returns, unless the call was abandoned.
  void remove(const std::shared_ptr<PendingCall>& call, const std::function<void()>& pass) {
    const Held lock(mutex_);
    if (pending_.erase(call) != 0) pass();
  }
  void abandon_all() {
    std::set<std::shared_ptr<PendingCall>> abandoned;
    {
      const Held lock(mutex_);
      abandoned.swap(pending_);
    }
    for (const auto& call : abandoned) call->abandon();
  }

 private:
  Mutex mutex_;
  std::set<std::shared_ptr<PendingCall>> pending_ WEIR_GUARDED_BY(mutex_);
};

// Told by an event loop that it goes, while its executors may still be used.
class LoopWatch final : public boost::asio::execution_context::service {
 public:
  using key_type = LoopWatch;
  static inline boost::asio::execution_context::id id;
  explicit LoopWatch(boost::asio::execution_context& loop) : service(loop) {}

  // Those of the loop of an executor.
  template <class Executor>
  static std::shared_ptr<PendingCalls> calls_of(const Executor& executor) {
    namespace asio = boost::asio;
    using Loop = asio::execution::context_as_t<asio::execution_context&>;
    if constexpr (asio::can_query<const Executor&, Loop>::value) {
      return asio::use_service<LoopWatch>(asio::query(executor, Loop())).calls_;
    } else if constexpr (requires { static_cast<asio::execution_context&>(executor.context()); }) {
      return asio::use_service<LoopWatch>(static_cast<asio::execution_context&>(executor.context())).calls_;
    } else {
      return std::make_shared<PendingCalls>();
    }
  }

 private:
  void shutdown() override { calls_->abandon_all(); }

  const std::shared_ptr<PendingCalls> calls_ = std::make_shared<PendingCalls>();
};

template <class Value, class Handler, class Executor>
class CallOf final : public PendingCall {
 public:
  CallOf(Handler handler, const Executor& executor)
      : waiting_(std::in_place, std::move(handler), boost::asio::make_work_guard(executor)) {}
  void abandon() override { waiting_.reset(); }
  void pass(RawResult<Value> answer) {
    boost::asio::post(waiting_->work.get_executor(),
                      [handler = std::move(waiting_->handler), answer = std::move(answer)]() mutable {
                        std::exception_ptr error;
                        if (answer.fault != Fault::none)
                          error = std::make_exception_ptr(StoreFault(answer.fault, answer.why));
                        std::move(handler)(std::move(error), std::move(answer.value));
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

// Found by the namespace of ByToken (weir/completion.hpp). A token may begin later than it is passed, as
// use_awaitable does.
template <class Value, class Begin, class Token>
auto complete_by_token(ByToken, std::type_identity<Value>, Begin begin, Token&& token) {
  namespace asio = boost::asio;
  auto initiate = [begin = std::move(begin)](auto&& handler) mutable {
    const auto executor = asio::get_associated_executor(handler);
    using Executor = std::remove_const_t<decltype(executor)>;
    using Call = CallOf<Value, std::decay_t<decltype(handler)>, Executor>;
    const auto calls = LoopWatch::calls_of(executor);
    const auto call = std::make_shared<Call>(std::forward<decltype(handler)>(handler), executor);
    calls->add(call);
    try {
      begin(Callback<RawResult<Value>>([calls, call](RawResult<Value> answer) {
        calls->remove(call, [&] { call->pass(std::move(answer)); });
      }));
    } catch (...) {
      calls->remove(call, [] {});
      throw;
    }
  };
  return asio::async_initiate<Token, void(std::exception_ptr, Value)>(std::move(initiate), token);
}

}  // namespace weir::detail
