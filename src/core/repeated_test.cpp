#include "core/repeated.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

TEST(Repeated, tells_the_first_at_once_then_at_intervals_with_their_number) {
  Repeated repeated(10s);
  EXPECT_EQ(repeated.happened(5s), 1U);
  EXPECT_EQ(repeated.happened(6s), 0U);
  EXPECT_EQ(repeated.happened(14s), 0U);
  EXPECT_EQ(repeated.happened(15s), 3U);
  EXPECT_EQ(repeated.happened(15s), 0U);
  EXPECT_EQ(repeated.happened(3600s), 2U);
}

TEST(Repeated, tells_at_once_what_is_news_again) {
  Repeated repeated(10s);
  EXPECT_EQ(repeated.happened(5s), 1U);
  EXPECT_EQ(repeated.happened(6s), 0U);
  repeated.renew();
  EXPECT_EQ(repeated.happened(7s), 2U);
  EXPECT_EQ(repeated.happened(16s), 0U);
}

TEST(Repeated, tells_at_the_very_start_of_a_clock) {
  Repeated repeated(10s);
  EXPECT_EQ(repeated.happened(0s), 1U);
}

TEST(Repeated, tells_of_the_last_ones_when_none_follows) {
  Repeated repeated(10s);
  EXPECT_EQ(repeated.rest(1s), 0U);
  EXPECT_EQ(repeated.happened(5s), 1U);
  EXPECT_EQ(repeated.rest(20s), 0U);
  EXPECT_EQ(repeated.happened(20s), 1U);
  EXPECT_EQ(repeated.happened(21s), 0U);
  EXPECT_EQ(repeated.happened(22s), 0U);
  EXPECT_EQ(repeated.rest(29s), 0U);
  EXPECT_EQ(repeated.rest(30s), 2U);
  EXPECT_EQ(repeated.rest(60s), 0U);
}

TEST(Repeated, counts_each_once_whichever_threads_it_happens_on) {
  Repeated repeated(1ns);
  std::vector<std::uint64_t> told(4);
  std::vector<std::thread> threads;
  for (std::uint64_t& sum : told) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) sum += repeated.happened(std::chrono::nanoseconds{i});
    });
  }
  for (std::thread& thread : threads) thread.join();
  repeated.renew();
  const std::uint64_t rest = repeated.happened(1h);
  EXPECT_EQ(std::accumulate(told.begin(), told.end(), rest), 40'001U);
}

}  // namespace
}  // namespace weir::core
