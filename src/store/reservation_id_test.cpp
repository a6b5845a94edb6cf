#include "store/reservation_id.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weir::inline v0_1::store::reservation_id_test {
namespace {

TEST(ReservationId, is_read_as_it_was_written) {
  for (const ReservationId id :
       {ReservationId{0, 0}, ReservationId{~0ULL, ~0ULL}, ReservationId{1, 1ULL << 63},
        ReservationId{0x0123456789abcdef, 0xfedcba9876543210}}) {
    const std::string text = id.text();
    EXPECT_EQ(text.size(), 22U);
    EXPECT_EQ(ReservationId::read(text), id) << text;
  }
  EXPECT_EQ((ReservationId{0, 0}.text()), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_EQ((ReservationId{~0ULL, ~0ULL}.text()), "_____________________w");
}

TEST(ReservationId, is_nothing_else) {
  for (const char* text : {"", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB",
                           "AAAAAAAAAA+AAAAAAAAAAA", "AAAAAAAAAA\0AAAAAAAAAAA"}) {
    EXPECT_EQ(ReservationId::read(text), std::nullopt) << text;
  }
}

TEST(ReservationId, differs_from_all_others_and_by_its_secret) {
  ReservationIds ids({1, 2}, {3, 4});
  ReservationIds others({1, 2}, {3, 5});
  std::set<ReservationId> seen;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(seen.insert(ids.next()).second);
    EXPECT_TRUE(seen.insert(others.next()).second);
  }
}

}  // namespace
}  // namespace weir::store::reservation_id_test
