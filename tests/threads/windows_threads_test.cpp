// What threads do at once to a key whose algorithm counts in windows. Run under ThreadSanitizer by ./dev
// check.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/set_clock_test.hpp"
#include "store/clock.hpp"
#include "store/log_table.hpp"
#include "store/table.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::windows_threads_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr int kThreads = 8;
constexpr std::array kWindows = {Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                 Algorithm::sliding_window_log, Algorithm::sliding_window_counter};

// What that number of buckets of logs takes.
constexpr std::size_t bytes_for(std::size_t buckets, std::size_t limit) {
  return buckets * (320 + 8 * 16 * limit);
}

template <class Work>
void on_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(WindowThreads, one_key_admits_exactly_its_limit) {
  for (const Algorithm algorithm : kWindows) {
    for (int round = 0; round < 10; ++round) {
      KeyedLimiter limiter(Quota::per_day(1000),
                           {.memory = 1_MiB, .algorithm = algorithm, .clock = &kSetClock});
      std::atomic<int> admitted{0};
      on_threads([&](int) {
        for (int i = 0; i < 500; ++i) admitted += at_time(1s, limiter).check("key").allowed() ? 1 : 0;
      });
      ASSERT_EQ(admitted, 1000) << static_cast<int>(algorithm);
    }
  }
}

// Two buckets for all: every lock collides, and every slot is fought for.
TEST(WindowThreads, logs_in_the_same_two_buckets_admit_exactly_their_limit) {
  constexpr Quota kQuota = Quota::per_day(100);
  for (int round = 0; round < 5; ++round) {
    store::LogTable table(kQuota, bytes_for(2, 100), WhenFull::deny, {1, 2});
    ASSERT_EQ(table.capacity(), 16U);
    std::vector<store::LogTable::Place> places;
    for (int i = 0; i < 20; ++i) places.push_back(table.locate("key " + std::to_string(i)));
    std::array<std::atomic<int>, 20> admitted{};
    on_threads([&](int thread) {
      for (std::size_t i = 0; i < 4'000; ++i) {
        const std::size_t at = (i + static_cast<std::size_t>(thread) * 3) % places.size();
        admitted[at] += table.check(places[at], {}, 1s).allowed() ? 1 : 0;
      }
    });
    int full = 0;
    for (const auto& each : admitted) {
      EXPECT_TRUE(each == 0 || each == 100) << each;
      full += each == 100 ? 1 : 0;
    }
    EXPECT_EQ(full, 16);
    EXPECT_EQ(table.live(1s), 16U);
    EXPECT_GT(table.refused(), 0U);
  }
}

// On the running clock, each thread with a reading of its own.
TEST(WindowThreads, any_interleaving_keeps_the_promise) {
  constexpr std::int64_t kLimit = 20;
  constexpr nanoseconds kPeriod = 200us;
  constexpr Quota kQuota = Quota::per(kLimit, kPeriod);
  for (const Algorithm algorithm : kWindows) {
    KeyedLimiter limiter(kQuota, {.memory = 1_MiB, .algorithm = algorithm, .clock = &kSetClock});
    std::mutex mutex;
    std::vector<nanoseconds> all;
    on_threads([&](int) {
      std::vector<nanoseconds> mine;
      for (int i = 0; i < 20'000; ++i) {
        const nanoseconds now = store::steady_now();
        if (at_time(now, limiter).check("key").allowed()) mine.push_back(now);
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), mine.begin(), mine.end());
    });
    ASSERT_GT(all.size(), static_cast<std::size_t>(kLimit));
    const auto [first, last] = std::minmax_element(all.begin(), all.end());
    // The windows that a span touches, each with its limit; the log has no windows, but n + 1 periods cover
    // it.
    EXPECT_LE(static_cast<std::int64_t>(all.size()), kLimit * ((*last - *first) / kPeriod + 2));
  }
}

// Keys whose logs expire are overwritten by others all the time, at eight clocks that are not quite one.
TEST(WindowThreads, churn_loses_no_live_log) {
  constexpr Quota kQuota = Quota::per(1, 10s);
  constexpr int kSettled = 500;
  store::LogTable table(kQuota, bytes_for(256, 1), WhenFull::deny, {1, 2});
  const auto settled = [&](int i) { return table.locate("settled " + std::to_string(i)); };
  for (int i = 0; i < kSettled; ++i) ASSERT_TRUE(table.check(settled(i), {}, 1000s).allowed());
  std::atomic<int> held{0};
  on_threads([&](int thread) {
    for (int i = 0; i < 20'000; ++i) {
      const auto now = 900s + i * 5ms + thread * 1ms;  // to 1000s, past the end of many logs
      const store::LogTable::Place place = table.locate(std::to_string(thread) + ":" + std::to_string(i));
      held += table.check(place, {}, now).allowed() ? 1 : 0;
    }
  });
  for (int i = 0; i < kSettled; ++i) EXPECT_FALSE(table.check(settled(i), {}, 1009s).allowed()) << i;
  EXPECT_GT(held, 4 * static_cast<int>(table.capacity()));
  EXPECT_EQ(table.live(1011s), 0U);
}

}  // namespace
}  // namespace weir::windows_threads_test
