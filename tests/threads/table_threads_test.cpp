// What threads do to the table at once. Run under ThreadSanitizer by ./dev check.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "store/clock.hpp"
#include "store/snapshot.hpp"
#include "store/table.hpp"
#include "store/together_test.hpp"

namespace weir::inline v0_1::table_threads_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
constexpr int kScale = 10;  // under ThreadSanitizer a step takes some ten times as long
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kScale = 10;
#else
constexpr int kScale = 1;
#endif
#else
constexpr int kScale = 1;
#endif

constexpr int kThreads = 8;

template <class Work>
void on_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(TableThreads, one_key_admits_exactly_its_burst) {
  constexpr Quota quota = Quota::per_day(1000);
  for (int round = 0; round < 20; ++round) {
    store::Table table(1_MiB, WhenFull::deny);
    std::atomic<int> admitted{0};
    on_threads([&](int) {
      for (int i = 0; i < 1000; ++i)
        admitted += table.check(table.locate("key"), quota, {}, 1s).allowed() ? 1 : 0;
    });
    ASSERT_EQ(admitted, 1000);
  }
}

// More keys than two buckets hold, all with one pair of buckets, so that every lock and every search
// collides.
TEST(TableThreads, colliding_keys_admit_exactly_their_burst) {
  constexpr Quota quota = Quota::per_day(100);
  store::Table table(1_MiB, WhenFull::deny);
  std::vector<store::Table::Place> places;
  for (std::uint64_t i = 0; i < 6; ++i) places.push_back({(i << 20) | 0x123, 77});
  std::array<std::atomic<int>, 6> admitted{};
  on_threads([&](int thread) {
    for (std::size_t i = 0; i < 6'000; ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(thread)) % places.size();
      admitted[at] += table.check(places[at], quota, {}, 1s).allowed() ? 1 : 0;
    }
  });
  for (const auto& each : admitted) EXPECT_EQ(each, 100);
  EXPECT_EQ(table.refused(), 0U);
  // A seventh finds both buckets full of keys that cannot be moved anywhere else.
  EXPECT_EQ(table.check({(std::uint64_t{9} << 20) | 0x123, 77}, quota, {}, 1s).verdict, Verdict::denied);
}

TEST(TableThreads, growing_while_it_is_hit_admits_each_key_once) {
  constexpr Quota quota = Quota::per_day(1);
  constexpr int kKeys = 400'000 / kScale;
  store::Table table(16_MiB, WhenFull::deny);
  std::atomic<int> admitted{0};
  std::atomic<std::int64_t> longest{0};
  on_threads([&](int thread) {
    int mine = 0;
    std::int64_t worst = 0;
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = std::to_string((i + thread * kKeys / kThreads) % kKeys);
      const nanoseconds before = store::steady_now();
      mine += table.check(table.locate(key), quota, {}, 1s).allowed() ? 1 : 0;
      worst = std::max(worst, (store::steady_now() - before).count());
    }
    admitted += mine;
    for (std::int64_t seen = longest; seen < worst && !longest.compare_exchange_weak(seen, worst);) {
    }
  });
  EXPECT_EQ(admitted, kKeys);
  EXPECT_EQ(table.refused(), 0U);
  EXPECT_EQ(table.live(1s), static_cast<std::uint64_t>(kKeys));
  // For people: with eight threads on fewer cores this is mostly the scheduler.
  std::printf("longest check: %lld us\n", static_cast<long long>(longest / 1000));
}

TEST(TableThreads, several_limits_at_once_neither_lock_up_nor_overcharge) {
  constexpr Quota quota = Quota::per_day(1000);
  store::Table table(1_MiB, WhenFull::deny);
  std::vector<store::Table::Place> places;
  for (int i = 0; i < 12; ++i) places.push_back(table.locate("limit " + std::to_string(i)));
  std::atomic<int> all{0};
  on_threads([&](int thread) {
    for (std::size_t i = 0; i < 4'000; ++i) {
      // Each thread names them in another order.
      const std::size_t a = (i + static_cast<std::size_t>(thread)) % 12;
      const std::array<store::Charge, 3> requests = {{{places[a], &quota, {}},
                                                      {places[(a + 5) % 12], &quota, {}},
                                                      {places[(a * 7 + 1) % 12], &quota, {}}}};
      std::array<Decision, 3> decisions;
      all += store::check_all(table, requests, 1s, decisions) ? 1 : 0;
    }
  });
  std::int64_t charged = 0;
  for (const store::Table::Place& place : places)
    charged += 1000 - table.check(place, quota, Cost{0}, 1s).remaining;
  EXPECT_EQ(charged, 3 * all);
}

// Fresh keys of two buckets that are nearly full: every call wants the slots that the others want. It must
// end, and leave both of its keys or none.
TEST(TableThreads, several_new_keys_that_fight_for_the_last_slots_are_charged_all_or_none) {
  constexpr Quota quota = Quota::per_day(1);
  store::Table table(1_MiB, WhenFull::deny);
  const auto place = [](std::uint64_t number) { return store::Table::Place{(number << 20) | 0x123, 77}; };
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(table.check(place(i), quota, {}, 1s).allowed());
  std::atomic<int> charged{0};
  on_threads([&](int thread) {
    for (int i = 0; i < 20'000 / kScale; ++i) {
      const auto number = static_cast<std::uint64_t>(10 + thread * 2);
      const std::array<store::Charge, 2> both = {
          {{place(number), &quota, {}}, {place(number + 1), &quota, {}}}};
      std::array<Decision, 2> decisions;
      const bool all = store::check_all(table, both, 1s, decisions);
      charged += all ? 1 : 0;
      for (const store::Charge& each : both) ASSERT_EQ(table.reset(each.place, 1s), all);
    }
  });
  EXPECT_GT(charged, 0);
  EXPECT_EQ(table.live(1s), 3U);
}

TEST(TableThreads, a_snapshot_beside_traffic_misses_no_settled_key) {
  constexpr Quota quota = Quota::per_day(1);
  constexpr int kSettled = 100'000 / kScale;
  const std::string path = testing::TempDir() + "weir_threads_snapshot";
  store::Table table(16_MiB, WhenFull::deny);
  for (int i = 0; i < kSettled; ++i)
    table.check(table.locate("settled " + std::to_string(i)), quota, {}, store::steady_now());
  std::atomic<bool> done{false};
  std::thread traffic([&] {  // makes the table grow and its entries move
    for (int i = 0; i < 400'000 && !done; ++i) {
      table.check(table.locate("traffic " + std::to_string(i)), quota, {}, store::steady_now());
    }
  });
  for (int round = 0; round < 5; ++round) ASSERT_TRUE(store::save_snapshot(table, path));
  done = true;
  traffic.join();
  auto file = store::SnapshotFile::open(path);
  ASSERT_TRUE(file) << file.error();
  store::Table restored(16_MiB, WhenFull::deny, file->seed());
  ASSERT_TRUE(file->restore_into(restored, store::steady_now()));
  for (int i = 0; i < kSettled; ++i) {
    ASSERT_FALSE(
        restored.check(restored.locate("settled " + std::to_string(i)), quota, {}, store::steady_now())
            .allowed())
        << i;
  }
  std::remove(path.c_str());
}

// Churn: keys that expire at once are constantly overwritten by others.
TEST(TableThreads, churn_loses_nothing_live) {
  constexpr Quota quick = Quota::per_second(1'000'000).with_burst(1);
  constexpr Quota slow = Quota::per_day(1);
  store::Table table(1_MiB, WhenFull::deny);
  for (int i = 0; i < 20'000; ++i)
    table.check(table.locate("slow " + std::to_string(i)), slow, {}, store::steady_now());
  on_threads([&](int thread) {
    for (int i = 0; i < 100'000 / kScale; ++i) {
      const std::string key = std::to_string(thread) + ":" + std::to_string(i);
      table.check(table.locate(key), quick, {}, store::steady_now());
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_FALSE(
        table.check(table.locate("slow " + std::to_string(i)), slow, {}, store::steady_now()).allowed())
        << i;
  }
}

}  // namespace
}  // namespace weir::table_threads_test
