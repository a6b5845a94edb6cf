#include "redis/reservation_id.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "redis/slot.hpp"

namespace weir::inline v0_1::redis {
namespace {

TEST(ReservationId, every_slot_has_a_tag_of_its_own) {
  std::set<std::string> tags;
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
    const std::string tag(tag_of(slot));
    ASSERT_EQ(tag.size(), 16U);
    ASSERT_EQ(slot_of(tag), slot);
    tags.insert(tag);
  }
  EXPECT_EQ(tags.size(), kSlots);
  EXPECT_EQ(tag_of(slot_of("0000000000000000")), "0000000000000000") << "the same in every process";
}

TEST(ReservationId, says_its_slot) {
  for (const std::uint16_t slot : std::initializer_list<std::uint16_t>{0, 1, 63, 64, 5461, 16383}) {
    const std::string id = reservation_id({0x0123456789abcdef, 0xfedcba9876543210}, slot);
    EXPECT_EQ(id.size(), 25U);
    EXPECT_EQ(id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    EXPECT_EQ(slot_of_reservation(id), slot);
  }
}

TEST(ReservationId, anything_else_is_not_an_id) {
  const std::string id = reservation_id({1, 2}, 3);
  for (const std::string& text : {std::string(), id.substr(0, 22), id + "A", id.substr(0, 24) + "*",
                                  std::string(22, 'A') + "___", std::string(21, 'A') + "BAAA"})
    EXPECT_EQ(slot_of_reservation(text), std::nullopt) << text;
}

TEST(ReservationId, what_is_kept_lies_in_the_slot_of_its_state) {
  for (const char* const prefix : {"weir:", "", "{mine}:", "odd{"}) {
    for (const char* const key : {"user:1", "{t}a", "a}b", "{}", "{0000000000000000}limit#5:usersk"}) {
      const std::string state = std::string(prefix) + key;
      EXPECT_EQ(slot_of(line_in_redis(prefix, state)), slot_of(state)) << state;
      EXPECT_EQ(slot_of(record_in_redis(prefix, "id", slot_of(state))), slot_of(state)) << state;
    }
  }
}

}  // namespace
}  // namespace weir::redis
