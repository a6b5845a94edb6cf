// Completion tokens, and event loops that go while their checks are open.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "library/silent_redis.hpp"
#include "weir/asio.hpp"
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
