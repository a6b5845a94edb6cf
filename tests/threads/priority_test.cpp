// A thread that waits for a lock lets the holder run, whatever the priorities of the two.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "store/segments.hpp"

namespace {

// Where a thread that is watched counts its sleeps.
thread_local std::atomic<int>* sleeps = nullptr;

}  // namespace

// In the place of the C library's: how a thread waits is counted, as the time it computes meanwhile is the
// machine's.
extern "C" int nanosleep(const timespec* wanted, timespec* left) {
  if (sleeps != nullptr) ++*sleeps;
  const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
  errno = error;
  return error == 0 ? 0 : -1;
}

namespace weir::inline v0_1::priority_test {
namespace {

using namespace std::chrono_literals;

constexpr store::KeyPlace kPlace = store::Segments::place(0x123456789, 77);

// One way to wait for a lock: what its holder does, and what the other thread does.
struct Way {
  const char* name;
  std::function<void(store::Segments&, const std::function<void()>&)> lock_and;
};

std::vector<Way> ways() {
  return {{"a bucket",
           [](store::Segments& segments, const auto& then) {
             const store::Held held(*segments.homes(kPlace)[0].bucket);
             then();
           }},
          {"both of a key",
           [](store::Segments& segments, const auto& then) {
             const auto pair = segments.lock_pair(kPlace);
             then();
           }},
          {"many",
           [](store::Segments& segments, const auto& then) {
             const auto homes = segments.homes(kPlace);
             std::array<store::Bucket*, 2> buckets = {homes[0].bucket, homes[1].bucket};
             const store::HeldAll held(buckets);
             then();
           }},
          {"a segment's shape", [](store::Segments& segments, const auto& then) {
             const store::Held held(segments.homes(kPlace)[0].segment->shape);
             then();
           }}};
}

bool be_first_in_first_out() {
  const sched_param lowest{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
}

bool stay_on_one_processor() {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  for (std::size_t number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &all)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

// How often a thread slept that waits for a lock. The other thread holds it until that was often enough, and
// gives up after a time that no sleep takes.
int sleeps_for_a_lock(const Way& way, int times, const std::function<bool()>& prepare) {
  store::Segments segments(store::Segments::kSegmentBytes);
  std::binary_semaphore locked{0};
  std::atomic<int> count{0};
  std::thread other([&] {
    ASSERT_TRUE(prepare());
    locked.acquire();
    sleeps = &count;
    way.lock_and(segments, [] {});
    sleeps = nullptr;
  });
  way.lock_and(segments, [&] {
    const auto begun = std::chrono::steady_clock::now();
    locked.release();
    while (count < times && std::chrono::steady_clock::now() - begun < 30s) std::this_thread::yield();
  });
  other.join();
  return count;
}

TEST(Priority, a_thread_that_waits_for_a_lock_leaves_its_processor_to_others) {
  for (const Way& way : ways()) {
    EXPECT_GE(sleeps_for_a_lock(way, 100, [] { return true; }), 100) << way.name;
  }
}

TEST(Priority, a_thread_that_waits_for_one_of_two_locks_does_not_keep_the_other) {
  store::Segments segments(store::Segments::kSegmentBytes);
  const auto homes = segments.homes(kPlace);
  store::Bucket& first = *std::min(homes[0].bucket, homes[1].bucket);
  store::Bucket& second = *std::max(homes[0].bucket, homes[1].bucket);
  std::atomic<bool> waits{false};
  std::thread other;
  {
    const store::Held held(second);
    other = std::thread([&] {
      waits = true;
      segments.lock_pair(kPlace);
    });
    while (!waits) std::this_thread::yield();
    int got = 0;
    for (const auto begun = std::chrono::steady_clock::now();
         got < 100 && std::chrono::steady_clock::now() - begun < 30s;) {
      std::this_thread::sleep_for(1ms);
      if (!first.try_lock()) continue;
      const store::Held held_too(first, std::adopt_lock);
      ++got;
    }
    EXPECT_EQ(got, 100);
  }
  other.join();
}

// On one processor, where the holder does not run before the other sleeps: a wait without sleep would end
// when the kernel takes the processor from real-time threads, or never.
TEST(Priority, a_thread_of_high_priority_lets_one_of_low_priority_release_the_lock) {
  std::atomic<bool> permitted{true};
  std::thread([&] { permitted = be_first_in_first_out(); }).join();
  if (!permitted) GTEST_SKIP() << "SCHED_FIFO is not permitted here: " << std::strerror(EPERM);
  for (const Way& way : ways()) {
    int slept = 0;
    std::thread([&] {
      ASSERT_TRUE(stay_on_one_processor());  // the thread that this one begins too
      slept = sleeps_for_a_lock(way, 1, be_first_in_first_out);
    }).join();
    EXPECT_GE(slept, 1) << way.name;
  }
}

}  // namespace
}  // namespace weir::priority_test
