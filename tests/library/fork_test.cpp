// Children of a program whose other threads limit while it forks: each ends, and with a sentence where it has
// to.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "weir/limiter.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

// How a child ends that calls `act`, and what it writes to its standard error.
struct End {
  int status = -1;
  std::string said;
};
End in_a_child(const std::function<int()>& act) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe[1], STDERR_FILENO);
    _exit(act());
  }
  close(pipe[1]);
  End end;
  std::array<char, 512> room{};
  while (const auto got = read(pipe[0], room.data(), room.size())) {
    if (got < 0) break;
    end.said.append(room.data(), static_cast<std::size_t>(got));
  }
  close(pipe[0]);
  EXPECT_EQ(waitpid(child, &end.status, 0), child);
  return end;
}

constexpr const char* kLocked =
    "weir: another thread was in a call of this limiter at fork(), and its lock is held in the child; "
    "expected a "
    "limiter that the child has made\n";

TEST(Fork, a_child_of_busy_threads_ends_and_does_not_hang) {
  LocalStore store{{.memory = 1_MiB}};
  KeyedLimiter users{Quota::per_second(1'000'000), store};
  KeyedLimiter tenants{Quota::per_second(1'000'000), store};
  KeyedLimiter logs{Quota::per_second(100), {.memory = 1_MiB, .algorithm = Algorithm::sliding_window_log}};
  Limiter one{Quota::per_second(1'000'000)};
  Limiter other{Quota::per_second(1'000'000)};
  Limits limits = Limits::from_text("version: 1\nlimits: { all: { rate: 1000000/s } }\n");
  const auto use = [&] {
    std::ignore = users.check("key");
    std::ignore = logs.check("key");
    std::ignore = store.check_all({{users, "key"}, {tenants, "key"}});
    std::ignore = users.reserve("key", {.max_wait = 1s, .hold = 1s}, Cost{1'000'000});
    std::ignore = check_all({{one}, {other}});
    std::ignore = one.reserve({.max_wait = 1s, .hold = 1s});
    std::ignore = limits.check(LimitsRequest{});
  };
  std::atomic<std::size_t> busy{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&](std::stop_token stop) {
      for (++busy; !stop.stop_requested();) use();
    });
  }
  while (busy != threads.size()) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) {
    const End end = in_a_child([&] {
      use();
      // Its own work, whatever it has inherited.
      KeyedLimiter own{Quota::per_hour(1), {.memory = 1_MiB}};
      return own.check("key").allowed() && !own.check("key").allowed() ? 0 : 1;
    });
    if (end.status == 0) continue;
    EXPECT_TRUE(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT) << end.status;
    EXPECT_EQ(end.said, kLocked);
  }
}

TEST(Fork, limiters_of_a_program_with_one_thread_go_on_in_the_child) {
  KeyedLimiter limiter{Quota::per_hour(2), {.memory = 1_MiB}};
  EXPECT_TRUE(limiter.check("key").allowed());
  const End end =
      in_a_child([&] { return limiter.check("key").allowed() && !limiter.check("key").allowed() ? 0 : 1; });
  EXPECT_EQ(end.status, 0) << end.said;
  EXPECT_TRUE(limiter.check("key").allowed()) << "the child counted for itself";
}

// 0, when `act` throws what it should in a child.
template <class Act>
int refused(Act act) {
  try {
    act();
  } catch (const std::logic_error& error) {
    constexpr std::string_view kOthers =
        "weir::RedisStore: it was made before fork(); expected a RedisStore that this process has made";
    return error.what() == kOthers ? 0 : 1;
  }
  return 2;
}

TEST(Fork, a_shared_store_says_so_in_a_child_and_goes_on_in_the_parent) {
  for (const char* url : {"redis://127.0.0.1:1", "memory:"}) {
    std::optional<RedisStore> store{url};
    SharedLimiter limiter{Quota::per_hour(2), *store};
    Limits limits = Limits::from_text("version: 1\nlimits: { all: { rate: 10/h } }\n", *store);
    EXPECT_TRUE(limiter.check("key").allowed());
    EXPECT_TRUE(limiter.check("key").allowed());
    std::optional<Reservation> mine = limiter.reserve("key", {.max_wait = 1h, .hold = 1h});
    ASSERT_TRUE(mine->granted());
    const End end = in_a_child([&] {
      const int wrong = refused([&] { std::ignore = limiter.check("key"); }) +
                        refused([&] { limiter.check("key", [](const SharedResult&) {}); }) +
                        refused([&] { std::ignore = store->check_all({{limiter, "key"}}); }) +
                        refused([&] { std::ignore = limiter.reserve("key", {.max_wait = 1s}); }) +
                        refused([&] { limiter.reset("key"); }) + refused([&] { mine->settle(1); }) +
                        refused([&] { std::ignore = limits.check(LimitsRequest{}); });
      mine.reset();
      store.reset();
      RedisStore own{url};
      SharedLimiter limiter_of_its_own{Quota::per_hour(2), own};
      return wrong + (limiter_of_its_own.check("key").allowed() ? 0 : 1);
    });
    EXPECT_EQ(end.status, 0) << url << end.said;
    EXPECT_TRUE(mine->granted());
    EXPECT_EQ(limiter.reserve("key", {.max_wait = 30min}).granted(), false) << "the parent's moment stands";
    EXPECT_EQ(mine->cancel(), 1U);
    mine.reset();
  }
}

}  // namespace
}  // namespace weir
