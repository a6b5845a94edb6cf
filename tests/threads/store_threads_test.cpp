// What threads do at once in the store that is not a check alone: reservations over two keys, and a snapshot
// that several take in. Run under ThreadSanitizer by ./dev check.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::store_threads_test {
namespace {

using namespace std::chrono_literals;
using namespace store;

TEST(Threads, reservations_of_many_are_all_or_none_and_each_is_cancelled_once) {
  EmbeddedStore store(1_MiB);
  const Limit a = {.rule = core::Rule::parse("1000/s burst 10").value(), .id = 1};
  const Limit b = {.rule = core::Rule::parse("1000/s burst 10").value(), .id = 2};
  std::atomic<std::uint64_t> granted{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        Check checks[2] = {{.limit = t % 2 ? &a : &b, .key = "k"}, {.limit = t % 2 ? &b : &a, .key = "k"}};
        ReservationTerms reservation{.max_wait = 3600s};
        Request request{.checks = checks, .verb = Verb::reserve, .reservation = &reservation};
        Request* const one = &request;
        store.submit({&one, 1}, {1s, 1s});
        if (!request.allowed()) continue;
        ++granted;
        if (reservation.id.empty() || i % 2 == 0) continue;
        for (int twice = 0; twice < 2; ++twice) {
          Request cancel{.verb = Verb::cancel, .reservation = &reservation};
          Request* const other = &cancel;
          store.submit({&other, 1}, {1s, 1s});
          cancelled += reservation.given_back;
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  Check looks[2] = {{.limit = &a, .key = "k", .cost = Cost{0}}, {.limit = &b, .key = "k", .cost = Cost{0}}};
  Request look{.checks = looks, .verb = Verb::look};
  Request* const one = &look;
  store.submit({&one, 1}, {1s, 1s});
  EXPECT_EQ(looks[0].decision.reset_after, looks[1].decision.reset_after);
  EXPECT_GE(looks[0].decision.reset_after, 1ms * (granted.load() - cancelled.load()));
  EXPECT_LE(looks[0].decision.reset_after, 1ms * granted.load());
}

TEST(Threads, take_in_a_snapshot_as_one_does) {
  constexpr int kKeys = 30'000;
  const std::string path = testing::TempDir() + "weir_snapshot_threads_" + std::to_string(getpid());
  const auto key = [](int i) { return "key " + std::to_string(i); };
  const Quota quota = Quota::per_day(1);
  Table table(4_MiB, WhenFull::deny);
  for (int i = 0; i < kKeys; ++i)
    ASSERT_TRUE(table.check(table.locate(key(i)), quota, {}, steady_now()).allowed());
  ASSERT_TRUE(save_snapshot(table, path));
  auto file = SnapshotFile::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file);
  Table other(4_MiB, WhenFull::deny, file->seed());
  Reservations reservations(other);
  const auto restored = file->take_over_into(other, steady_now(), reservations, 3);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->keys, static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(restored->dropped, 0U);
  for (int i = 0; i < kKeys; ++i)
    ASSERT_FALSE(other.check(other.locate(key(i)), quota, {}, steady_now()).allowed()) << i;
}

}  // namespace
}  // namespace weir::store_threads_test
