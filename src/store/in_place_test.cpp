#include "store/in_place.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/all_or_none_check.hpp"

namespace weir::inline v0_1::store::in_place_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// Few buckets, so that keys are often away from home, and often find no room there.
constexpr std::uint32_t kBucketsUsed = 12;

std::uint64_t hash_of(std::uint64_t key) {
  const auto home = static_cast<std::uint32_t>(key % kBucketsUsed);
  const auto other = static_cast<std::uint32_t>((home + 1 + 2 * (key / kBucketsUsed % 5)) % kBucketsUsed);
  const KeyPlace place = Segments::place((key + 1) << 20 | ((home ^ other) & ~1U) | (home & 1U), home);
  return place.tag << 22 | place.bucket;
}

std::vector<Decision> decisions_of(const std::vector<Check>& checks) {
  std::vector<Decision> decisions;
  for (const Check& check : checks) decisions.push_back(check.decision);
  return decisions;
}

// One table is asked the short way first and the other only the long way: they must never differ.
TEST(InPlace, decides_as_a_joint_check_does_and_changes_nothing_when_it_cannot) {
  core::Chance chance;
  const auto of = [&chance](std::int64_t most) { return static_cast<std::size_t>(chance.up_to(most)); };
  const std::vector<Limit> limits = {
      Limit{.rule = core::Rule{Quota::per_second(2).with_burst(3)}},
      Limit{.rule = core::Rule{Quota::per_second(1).with_burst(2)}},
      Limit{.rule = core::Rule{Quota::per_minute(60).with_burst(5), Algorithm::gcra, 0ns, 1s}}};
  std::uint64_t in_place = 0;
  std::uint64_t left = 0;
  for (int world = 0; world < 20; ++world) {
    Segments one(1_MiB);
    Segments other(1_MiB);
    nanoseconds now = 1s;
    for (int turn = 0; turn < 500; ++turn) {
      now += nanoseconds{chance.up_to(400'000'000)};
      // A clock that lags, and a request that waited.
      const nanoseconds at = now - nanoseconds{chance.up_to(3) == 0 ? chance.up_to(300'000'000) : 0};
      const nanoseconds arrived = at - nanoseconds{chance.up_to(3) == 0 ? chance.up_to(200'000'000) : 0};
      std::vector<Check> checks(1 + of(3));
      for (std::size_t i = 0; i < checks.size(); ++i) {
        checks[i].limit = &limits[of(2)];
        checks[i].cost = Cost{of(3)};
        checks[i].hash = hash_of(of(99));
        checks[i].shadow = chance.up_to(4) == 0;
        if (i > 0 && checks[i - 1].shadow && chance.up_to(1) == 0)
          checks[i].inside = static_cast<std::uint8_t>(i - 1);
      }
      std::vector<Check> same = checks;
      bool charged = false;
      const auto short_way = check_in_place(one, checks, arrived, at);
      if (short_way) {
        charged = *short_way;
        ++in_place;
      } else {
        AllOrNoneCheck joint(one, WhenFull::deny, checks, arrived, at);
        while (!joint.round()) {
        }
        charged = joint.charged();
        ++left;
      }
      AllOrNoneCheck joint(other, WhenFull::deny, same, arrived, at);
      while (!joint.round()) {
      }
      ASSERT_EQ(charged, joint.charged()) << "world " << world << ", turn " << turn;
      ASSERT_EQ(decisions_of(checks), decisions_of(same)) << "world " << world << ", turn " << turn;
    }
  }
  // Both are met often enough to mean something.
  EXPECT_GT(in_place, 1000U);
  EXPECT_GT(left, 500U);
}

TEST(InPlace, a_bucket_that_another_thread_holds_is_not_waited_for_while_others_are_held) {
  Segments segments(1_MiB);
  const Limit limit{.rule = core::Rule{Quota::per_day(1)}};
  // Four keys of one home: the last goes to its other bucket.
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t number = 1; number <= 4; ++number)
    hashes.push_back(Segments::place(number << 20 | 5U, 5).tag << 22 | 5U);
  for (const std::uint64_t hash : hashes) {
    std::array<Check, 1> check = {Check{.limit = &limit, .hash = hash}};
    ASSERT_EQ(check_in_place(segments, check, 1s, 1s), true);
  }
  std::array<Check, 1> last = {Check{.limit = &limit, .hash = hashes.back()}};
  EXPECT_EQ(check_in_place(segments, last, 1s, 1s), false);
  const Segments::Homes homes = segments.homes(Segments::place_of(hashes.back()));
  {
    const HeldBoth held(*homes[1].bucket, *segments.owner(0, 9).bucket);
    EXPECT_EQ(check_in_place(segments, last, 1s, 1s), std::nullopt);
  }
  EXPECT_EQ(check_in_place(segments, last, 1s, 1s), false);
}

}  // namespace
}  // namespace weir::store::in_place_test
