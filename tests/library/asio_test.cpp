// Completion tokens, and event loops that go while their checks are open.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "library/silent_redis.hpp"
#include "weir/asio.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// What a handler owns, and whether that is still there.
struct Owned {
  std::shared_ptr<int> held = std::make_shared<int>(0);
  std::weak_ptr<int> watched = held;
  auto handler() {
    return [held = std::move(held)](std::exception_ptr, const Decision&) { ++*held; };
  }
};

template <class Loop, class Executor>
void handlers_go_with(const Executor& executor_of) {
  const SilentRedis silent;
  RedisStore store{silent.url(), {.deadline = 100ms}};
  SharedLimiter limiter{Quota::per_hour(1), store};
  Owned owned;
  {
    Loop loop{1};
    limiter.check("key", asio::bind_executor(executor_of(loop), owned.handler()));
    EXPECT_FALSE(owned.watched.expired());
  }
  EXPECT_TRUE(owned.watched.expired()) << "the handler outlived its loop";
  // The answer comes all the same, to nobody.
  while (store.not_decided() == 0) std::this_thread::yield();
}

TEST(ByToken, handlers_go_with_their_event_loop) {
  handlers_go_with<asio::io_context>([](auto& loop) { return loop.get_executor(); });
  handlers_go_with<asio::io_context>([](auto& loop) { return asio::make_strand(loop); });
  handlers_go_with<asio::io_context>([](auto& loop) { return asio::any_io_executor(loop.get_executor()); });
  handlers_go_with<asio::io_context>([](auto& loop) { return asio::executor(loop.get_executor()); });
  handlers_go_with<asio::thread_pool>([](auto& loop) {
    loop.stop();  // it would wait for the answer
    return loop.get_executor();
  });
}

TEST(ByToken, reservations_and_limits_are_awaited_too) {
  RedisStore store{"memory:"};
  SharedLimiter limiter{Quota::per_hour(1), store};
  Limits limits =
      Limits::from_text("version: 1\nlimits: { user: { by: [user], rate: 1/h, max_wait: 1h } }\n", store);
  EXPECT_TRUE(limiter.check("key").allowed());
  Reservation waits = limiter.reserve("key", {.max_wait = 2h}, asio::use_future).get();
  EXPECT_TRUE(waits.granted());
  EXPECT_EQ(waits.cancel(asio::use_future).get(), 1U);
  EXPECT_FALSE(waits.granted());
  Reservation held = limiter.reserve("other", {.hold = 1h}, Cost{1}, asio::use_future).get();
  EXPECT_GT(held.extend(2h, asio::use_future).get(), 1h);
  EXPECT_TRUE(held.moment(asio::use_future).get());
  EXPECT_EQ(held.settle(0, asio::use_future).get(), 0ns);
  EXPECT_EQ(limiter.take_up_to("some", Quota::per_hour(9), Cost{5}, Cost{1}, asio::use_future).get().granted,
            5U);
  EXPECT_EQ(limiter.take_up_to("few", Cost{5}, asio::use_future).get().granted, 1U);
  const Attribute asks[] = {{"user", "ann"}};
  EXPECT_TRUE(limits.check({asks}, asio::use_future).get().allowed());
  EXPECT_GT(limits.reserve({asks}, asio::use_future).get().reservation.wait(), 0s);
  const Attribute other[] = {{"user", "bob"}};
  EXPECT_EQ(limits.take_up_to({other, Cost{3}}, asio::use_future).get().granted, 1U);
  const SharedCheck checks[] = {{limiter, "one"}, {limiter, "two"}};
  EXPECT_TRUE(store.check_all(checks, asio::use_future).get().allowed());
  EXPECT_TRUE(limiter.check("third").allowed());
  Reservation refused = limiter.reserve("third", {.max_wait = 2h});
  EXPECT_THROW(static_cast<void>(refused.settle(9, asio::use_future).get()), StoreFault);
}

TEST(ByToken, a_reservation_that_nobody_takes_any_more_is_cancelled) {
  RedisStore store{"memory:"};
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_TRUE(limiter.check("key").allowed());
  {
    asio::io_context context;
    limiter.reserve("key", {.max_wait = 1h},
                    asio::bind_executor(context, [](std::exception_ptr, const Reservation&) { FAIL(); }));
    EXPECT_FALSE(limiter.reserve("key", {.max_wait = 1h}).granted());
  }
  EXPECT_TRUE(limiter.reserve("key", {.max_wait = 1h}).granted());
}

TEST(ByToken, a_loop_may_go_while_its_answers_come) {
  RedisStore store{"redis://127.0.0.1:1", {.deadline = 1ms}};  // nobody: answered by the store's thread
  SharedLimiter limiter{Quota::per_hour(1), store};
  for (int i = 0; i < 300; ++i) {
    asio::io_context context;
    for (int j = 0; j < 10; ++j) {
      Owned owned;
      limiter.check("key", asio::bind_executor(context, owned.handler()));
    }
    context.poll();
  }
}

TEST(ByToken, a_handler_may_own_what_asks_again_when_it_goes) {
  const SilentRedis silent;
  RedisStore store{silent.url(), {.deadline = 50ms}};
  SharedLimiter limiter{Quota::per_hour(1), store};
  std::atomic<int> asked{0};
  struct AsksAgain {
    AsksAgain(SharedLimiter& its_limiter, std::atomic<int>& its_asked)
        : limiter(its_limiter), asked(its_asked) {}
    ~AsksAgain() {
      limiter.check("other", [&count = asked](const SharedResult&) { ++count; });
    }
    SharedLimiter& limiter;
    std::atomic<int>& asked;
  };
  {
    asio::io_context context;
    limiter.check("key", asio::bind_executor(context, [last = std::make_shared<AsksAgain>(limiter, asked)](
                                                          std::exception_ptr, const Decision&) { FAIL(); }));
  }
  while (asked == 0) std::this_thread::yield();
}

TEST(ByToken, a_request_that_is_refused_leaves_nothing_open) {
  RedisStore store{"memory:"};
  SharedLimiter limiter{Quota::per_hour(1), store, {.algorithm = Algorithm::fixed_window}};
  asio::io_context context;
  Owned owned;
  EXPECT_THROW(limiter.check("key", Quota::per_hour(1).with_burst(5), Cost{},
                             asio::bind_executor(context, owned.handler())),
               std::invalid_argument);
  EXPECT_TRUE(owned.watched.expired());
  EXPECT_EQ(context.run(), 0U);
}

}  // namespace
}  // namespace weir
