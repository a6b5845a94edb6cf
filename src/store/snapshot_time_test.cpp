#include "store/snapshot_time.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::store::snapshot_time_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds kSteadyBegan = 5s;

// One time that every clock tells, each from a beginning of its own. The process may be stopped for a while
// before each reading.
class Paused final : public SystemClocks {
 public:
  explicit Paused(nanoseconds pause) : pause_(pause) {}

  nanoseconds steady() const override { return kSteadyBegan + read(); }
  nanoseconds booted() const override { return 10s + read(); }
  nanoseconds wall() const override { return 1000h + read(); }
  std::array<char, 16> boot_id() const override { return {boot}; }

  char boot = 1;
  mutable nanoseconds time{0};

 private:
  nanoseconds read() const { return time += pause_; }

  nanoseconds pause_;
};

TEST(SnapshotTime, no_pause_between_two_clocks_forgives_a_debt) {
  for (const nanoseconds pause : {0ns, 1ns, 1000000000ns}) {
    for (const bool rebooted : {false, true}) {
      Paused clocks(pause);
      constexpr nanoseconds kOwed = 1h;
      const Instant saved = read_instant(clocks);
      const nanoseconds paid = saved.now - kSteadyBegan + kOwed;
      clocks.boot = rebooted ? 2 : 1;
      const nanoseconds left = kOwed - passed_since(saved.stamp, clocks);
      const nanoseconds paid_after_restart = clocks.steady() - kSteadyBegan + left;
      EXPECT_GE(paid_after_restart, paid);
      EXPECT_LE(paid_after_restart, paid + 3 * pause);  // those while it was saved, and the last
    }
  }
}

TEST(SnapshotTime, a_wall_clock_that_was_set_back_counts_as_no_time) {
  Paused clocks(0ns);
  const Instant saved = read_instant(clocks);
  clocks.time = -1h;
  clocks.boot = 2;
  EXPECT_EQ(passed_since(saved.stamp, clocks), 0s);
}

TEST(SnapshotTime, two_boots_without_a_name_are_not_taken_for_one) {
  Paused clocks(0ns);
  clocks.boot = 0;
  const Instant saved = read_instant(clocks);
  clocks.time = 1h;
  EXPECT_EQ(passed_since(saved.stamp, clocks), 1h);
  EXPECT_EQ(passed_since({.booted = saved.stamp.booted, .wall = saved.stamp.wall + 1'000'000'000}, clocks),
            1h - 1s);
}

TEST(SnapshotTime, this_boot_has_a_name_and_its_clocks_go) {
  const SystemClocks clocks;
  const Instant saved = read_instant(clocks);
  EXPECT_EQ(clocks.boot_id(), saved.stamp.boot_id);
  EXPECT_NE(clocks.boot_id(), (std::array<char, 16>{}));
  EXPECT_GE(passed_since(saved.stamp, clocks), 0s);
  EXPECT_LE(saved.now, clocks.steady());
}

}  // namespace
}  // namespace weir::store::snapshot_time_test
