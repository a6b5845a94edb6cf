// A store that is far away: what merging and leases cost in time there.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

constexpr int kChecks = 300;  // more than a window takes

// How many of kChecks checks of a key, about one each `every`, the fallback decided.
std::uint64_t fallbacks(nanoseconds way, nanoseconds every, bool merge, std::uint64_t lease, int keys = 1) {
  Habits habits;
  habits.remember_denials = false;
  SharedWorld world(kOne, habits);
  world.latency = [way] { return way; };
  world.break_connections("a");
  world.run(1s);
  for (int i = 0; i < kChecks; ++i) {
    world.check(rule("100000/s"), "k" + std::to_string(i % keys), 1, {.lease = lease, .merge = merge});
    world.run(every);
  }
  world.run(1s);
  world.expect_all_told();
  return world.store().counters().fallbacks;
}

TEST(SharedStore, merging_and_leases_make_no_fallback_however_far_the_store_is) {
  for (const nanoseconds round_trip : {1000us, 24'000us, 26'000us, 49'000us, 60'000us}) {
    for (const nanoseconds every : {50us, 700us, 20'000us}) {
      SCOPED_TRACE(std::to_string(round_trip / 1us) + " us, a check each " + std::to_string(every / 1us) +
                   " us");
      const std::uint64_t alone = fallbacks(round_trip / 2, every, false, 0);
      if (round_trip < 50ms) {
        // Else the first window is full before the first answer.
        if (every > round_trip / 256) {
          EXPECT_EQ(alone, 0U);
        }
      } else {
        EXPECT_EQ(alone, std::uint64_t{kChecks});
      }
      EXPECT_LE(fallbacks(round_trip / 2, every, true, 0), alone) << "merging";
      EXPECT_LE(fallbacks(round_trip / 2, every, true, 0, 5), alone) << "merging, five keys";
      EXPECT_LE(fallbacks(round_trip / 2, every, false, 50), alone) << "leases";
      EXPECT_LE(fallbacks(round_trip / 2, every, false, 90'000), alone) << "leases that are denied at times";
    }
  }
}

}  // namespace
}  // namespace weir::redis
