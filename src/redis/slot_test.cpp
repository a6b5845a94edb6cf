#include "redis/slot.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::inline v0_1::redis {
namespace {

using namespace std::string_view_literals;

// The first is the specification's own; the others are what CLUSTER KEYSLOT of Redis 7.0.15 answers.
TEST(Slot, is_what_redis_says) {
  const std::vector<std::pair<std::string_view, int>> rows = {
      {"123456789", 12739},
      {"", 0},
      {"a", 15495},
      {"foo", 12182},
      {"user1000", 3443},
      {"{user1000}.following", 3443},
      {"{user1000}.followers", 3443},
      {"a{user1000}", 3443},
      {"foo{}{bar}", 8363},     // nothing between them: the whole key
      {"foo{{bar}}zap", 4015},  // "{bar"
      {"foo{bar}{zap}", 5061},  // "bar"
      {"bar", 5061},
      {"{bar", 4015},
      {"{}", 15257},
      {"}{", 12793},
      {"}a{bar}", 5061},
      {"a{b", 13340},
      {"\0\0"sv, 0},
      {"\xff\x80\x7f\0z"sv, 11379},
  };
  for (const auto& [key, slot] : rows) EXPECT_EQ(slot_of(key), slot) << std::string(key);
}

TEST(Slot, is_known_when_compiling) { static_assert(slot_of("123456789") == 12739); }

}  // namespace
}  // namespace weir::redis
