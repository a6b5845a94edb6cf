#include "steering/usage_book.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "core/rule.hpp"
#include "steering/usage_buffer.hpp"

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kNow = hours{400'000};

Booking booking_of(std::uint64_t hash, std::int64_t units, nanoseconds utc) {
  Booking booking{.hash = hash, .place = {7, hash}, .limit = "user", .key = "1:a", .utc = utc};
  booking.windows = {UsageWindow::of(*core::Rule::parse("9/h"))};
  booking.change.add(units);
  return booking;
}

std::uint64_t used(const UsageBook& book, std::uint64_t hash, nanoseconds utc) {
  const auto found = book.find(hash, utc);
  return found ? found->of(UsageWindow::of(*core::Rule::parse("9/h")), utc).used : 999'999;
}

TEST(UsageBook, full_turns_new_keys_away_and_says_so_until_nothing_is_missing) {
  UsageBook book(16 << 10);
  std::uint64_t kept = 0;
  while (book.book(booking_of(kept + 1, 1, kNow))) ++kept;
  EXPECT_GT(kept, 10U);
  EXPECT_LE(book.bytes(), 16U << 10);
  EXPECT_EQ(book.keys(), kept);
  EXPECT_TRUE(book.book(booking_of(1, 4, kNow)));  // it has room
  EXPECT_EQ(used(book, 1, kNow), 5U);
  EXPECT_FALSE(book.find(kept + 1, kNow));
  EXPECT_FALSE(book.find(123'456, kNow + hours{23}));  // nobody knows whether it was turned away
  EXPECT_EQ(used(book, 123'456, kNow + hours{25}), 0U);
}

TEST(UsageBook, what_is_over_makes_room) {
  UsageBook book(16 << 10);
  std::uint64_t keys = 0;
  while (book.book(booking_of(++keys, 1, kNow))) {
  }
  const nanoseconds later = kNow + hours{30};
  std::uint64_t more = 0;
  for (std::uint64_t i = 0; i < 2 * keys; ++i) more += book.book(booking_of(1000 + i, 1, later)) ? 1 : 0;
  EXPECT_GE(more, keys / 2);
  EXPECT_LE(book.bytes(), 16U << 10);
  EXPECT_EQ(used(book, 1, later + hours{26}), 0U);
}

TEST(UsageBook, a_place_changes_the_key_that_was_booked_there) {
  UsageBook book(1 << 20);
  UnitChange less;
  less.add(-3);
  book.book(UsagePlace{7, 1}, less, kNow);  // nobody
  book.book(booking_of(1, 5, kNow));
  book.book(UsagePlace{7, 1}, less, kNow);
  book.book(UsagePlace{8, 1}, less, kNow);
  EXPECT_EQ(used(book, 1, kNow), 2U);
  book.book(UsagePlace{7, 1}, less, kNow);
  EXPECT_EQ(used(book, 1, kNow), 0U);
}

TEST(UsageBuffer, has_one_booking_for_each_time_in_which_nothing_ends) {
  UsageBuffer buffer;
  const auto name = [](Booking& booking) {
    booking.windows = {UsageWindow::of(*core::Rule::parse("9/min"))};
  };
  for (int i = 0; i < 5; ++i) buffer.add(1, 2, kNow + seconds{i}, name);
  buffer.add(2, 1, kNow, name);
  buffer.add(1, 1, kNow + seconds{60}, name);
  buffer.add(UsagePlace{1, 1}, -1, kNow);
  EXPECT_TRUE(buffer.due(kNow));
  const std::vector<Booking> taken = buffer.take(kNow + seconds{61});
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[0].change.sum, 10);  // what has ended is first
  EXPECT_EQ(taken[1].place, (UsagePlace{1, 1}));
  EXPECT_EQ(taken[1].hash, 0U);
  EXPECT_FALSE(buffer.due(kNow + seconds{61}));
  EXPECT_TRUE(buffer.due(kNow + seconds{62}));
  for (std::uint64_t i = 1; i <= UsageBuffer::kMost; ++i) buffer.add(i, 1, kNow + seconds{61}, name);
  EXPECT_TRUE(buffer.due(kNow + seconds{61}));
  EXPECT_EQ(buffer.take(kNow).size(), UsageBuffer::kMost);
}

}  // namespace
}  // namespace weir::steering
