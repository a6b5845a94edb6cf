#include "store/segments.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace weir::inline v0_1::store::segments_test {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kNow{1};
constexpr std::uint64_t kLive = 1'000;

// Four buckets, full but for one slot. What lies in 0 and 1 can move between them, what lies in 2 and 3
// cannot leave these; one key belongs into 1 and 2, the other into 0 and 3.
class RoomForTwoKeys : public ::testing::Test {
 protected:
  RoomForTwoKeys() {
    std::uint64_t next = 0;
    for (const std::uint32_t bucket : {0U, 1U, 2U, 3U}) {
      for (int slot = bucket == 0 ? 1 : 0; slot < Bucket::kSlots; ++slot) put(bucket, slot, tag(1, ++next));
    }
  }

  // Of a key whose two buckets are `apart`, an odd number.
  static std::uint64_t tag(std::uint32_t apart, std::uint64_t number) { return number << 14 | apart; }

  void put(std::uint32_t number, int slot, std::uint64_t tag) {
    const Segments::Pair pair = segments_.lock_pair(Segments::place(tag, number));
    for (const auto [bucket, segment] : pair.homes) {
      bucket->assert_held();
      if (bucket == &segments_.guess(0, number)) segment->put(*bucket, slot, tag, {kLive, 1});
    }
  }
  int free_slots(std::uint32_t number) {
    Bucket& bucket = segments_.guess(0, number);
    const Held held(bucket);
    return bucket.free_slots(kNow);
  }

  Segments segments_{Segments::kSegmentBytes};
};

TEST_F(RoomForTwoKeys, is_not_taken_from_each_other_without_end) {
  EXPECT_EQ(Segments::place(tag(3, 100), 1).bucket, 1U);
  RoomForKey first(segments_, Segments::place(tag(3, 100), 1), kNow);   // belongs into 1 and 2
  RoomForKey second(segments_, Segments::place(tag(3, 101), 0), kNow);  // into 0 and 3
  int times = 0;
  while (times < 1'000 && first.make()) {
    EXPECT_EQ(free_slots(1), 1);
    EXPECT_EQ(free_slots(0), 0);
    if (!second.make()) break;
    EXPECT_EQ(free_slots(0), 1);
    EXPECT_EQ(free_slots(1), 0);
    ++times;
  }
  EXPECT_EQ(times, Segments::kMostMissed + 1);
  EXPECT_TRUE(RoomForKey(segments_, Segments::place(tag(3, 102), 1), kNow).make());
}

TEST_F(RoomForTwoKeys, is_made_at_once_for_one) {
  RoomForKey room(segments_, Segments::place(tag(3, 100), 1), kNow);
  EXPECT_TRUE(room.make());
  EXPECT_EQ(free_slots(1), 1);
  put(1, 0, tag(3, 100));
}

}  // namespace
}  // namespace weir::store::segments_test
