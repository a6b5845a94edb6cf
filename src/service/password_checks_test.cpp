#include "service/password_checks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

namespace weir::inline v0_1::service {
namespace {

using Answer = PasswordChecks::Answer;

core::Sha256 number(std::size_t of) { return core::sha256(std::to_string(of)); }

// Comparisons that last until they are let go on.
struct Held {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> runs{0};
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  std::atomic<std::chrono::seconds> clock{std::chrono::seconds{1000}};
  PasswordChecks checks{[this] { return std::chrono::nanoseconds{clock.load()}; }};

  PasswordChecks::Work work(bool right = true) {
    return [this, right] {
      const int now = ++at_once;
      int most = most_at_once.load();
      while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
      }
      ++runs;
      open.wait();
      --at_once;
      return right;
    };
  }
};

TEST(PasswordChecks, two_run_at_a_time_and_each_is_told_once) {
  Held held;
  std::atomic<int> told{0};
  std::promise<void> all;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(held.checks.ask(number(i), "a", held.work(i % 2 == 0), [&, i](Answer told_it) {
      EXPECT_EQ(told_it, i % 2 == 0 ? Answer::right : Answer::wrong);
      if (++told == 20) all.set_value();
    }));
  }
  held.gate.set_value();
  all.get_future().wait();
  EXPECT_EQ(held.runs, 20);
  EXPECT_LE(held.most_at_once, 2);
}

TEST(PasswordChecks, those_that_ask_the_same_share_one) {
  Held held;
  std::atomic<int> told{0};
  std::promise<void> all;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(held.checks.ask(number(1), "a", held.work(), [&](Answer told_it) {
      EXPECT_EQ(told_it, Answer::right);
      if (++told == 10'000) all.set_value();
    }));
  }
  held.gate.set_value();
  all.get_future().wait();
  EXPECT_EQ(held.runs, 1);
}

TEST(PasswordChecks, what_waits_is_bounded_for_an_address_and_for_all) {
  Held held;
  // Two that run, so that what follows waits.
  for (std::size_t i = 0; i < PasswordChecks::kAtOnce; ++i)
    ASSERT_TRUE(held.checks.ask(number(i), "first", held.work(), [](Answer) {}));
  while (held.runs < 2) std::this_thread::yield();
  std::size_t next = 100;
  std::size_t taken = 0;
  const auto fill = [&](const std::string& from) {
    std::size_t of_it = 0;
    while (held.checks.ask(number(next++), from, [] { return false; }, [](Answer) {})) ++of_it;
    taken += of_it;
    return of_it;
  };
  EXPECT_EQ(fill("a"), PasswordChecks::kMostWaitingOfOne);
  EXPECT_EQ(fill("b"), PasswordChecks::kMostWaitingOfOne) << "another has room yet";
  while (fill("c" + std::to_string(next)) > 0) {
  }
  EXPECT_EQ(taken, PasswordChecks::kMostWaiting);
  // What is asked already may be asked by others.
  EXPECT_TRUE(held.checks.ask(number(0), "a", held.work(), [](Answer) {}));
  std::size_t asking = 0;
  while (held.checks.ask(number(0), "d", held.work(), [](Answer) {})) ++asking;
  EXPECT_EQ(asking, PasswordChecks::kMostAskingOfOne);
  held.gate.set_value();
}

TEST(PasswordChecks, what_has_waited_too_long_is_told_so_and_not_compared) {
  Held held;
  for (std::size_t i = 0; i < PasswordChecks::kAtOnce; ++i)
    ASSERT_TRUE(held.checks.ask(number(i), "first", held.work(), [](Answer) {}));
  while (held.runs < 2) std::this_thread::yield();
  std::promise<Answer> late;
  std::promise<Answer> in_time;
  const auto tell = [](std::promise<Answer>& to) { return [&to](Answer told_it) { to.set_value(told_it); }; };
  ASSERT_TRUE(held.checks.ask(number(100), "a", held.work(), tell(late)));
  held.clock = held.clock.load() + std::chrono::seconds{1};
  ASSERT_TRUE(held.checks.ask(number(101), "a", held.work(), tell(in_time)));
  held.clock = held.clock.load() + PasswordChecks::kPatience - std::chrono::seconds{1};
  held.gate.set_value();
  EXPECT_EQ(late.get_future().get(), Answer::late);
  EXPECT_EQ(in_time.get_future().get(), Answer::right);
  EXPECT_EQ(held.runs, 3);
}

TEST(PasswordChecks, addresses_have_turns) {
  Held held;
  for (std::size_t i = 0; i < PasswordChecks::kAtOnce; ++i)
    ASSERT_TRUE(held.checks.ask(number(i), "first", held.work(), [](Answer) {}));
  while (held.runs < 2) std::this_thread::yield();
  std::atomic<int> before{0};  // of the flood, when the other was compared
  std::atomic<int> flood{0};
  std::atomic<int> told{0};
  std::promise<void> all;
  const auto tell = [&](Answer) {
    if (++told == 201) all.set_value();
  };
  for (std::size_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(held.checks.ask(number(100 + i), "flood", [&] { return ++flood > 0; }, tell));
  }
  ASSERT_TRUE(held.checks.ask(
      number(1000), "other",
      [&] {
        before = flood.load();
        return true;
      },
      tell));
  held.gate.set_value();
  all.get_future().wait();
  EXPECT_LE(before, 4) << "it has its turn after one of the flood's, and two run at once";
}

TEST(PasswordChecks, its_end_waits_for_what_runs_and_tells_no_more) {
  std::atomic<int> told{0};
  {
    PasswordChecks checks{[] { return std::chrono::nanoseconds{0}; }};
    std::promise<void> runs;
    ASSERT_TRUE(checks.ask(
        number(0), "a",
        [&] {
          runs.set_value();
          return true;
        },
        [&](Answer) { ++told; }));
    runs.get_future().wait();
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace weir::service
