#include "steering/override.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::inline v0_1::steering {
namespace {

using limits::Steer;

OperatorOverride some() {
  return {.number = 7,
          .what = Steer::raise,
          .limit = "user",
          .limit_id = "old",
          .when = {{"user", "a:1,\n\"x\""}, {"ip", "10.0.0.0/8"}},
          .rates = {"1/s", "unlimited/day"},
          .until = limits::Time(std::chrono::seconds{1'800'000'000}),
          .reason = "why\xc3\xa4",
          .user = "ann",
          .set_at = limits::Time(std::chrono::nanoseconds{5})};
}

TEST(OperatorOverride, is_the_same_after_it_was_bytes) {
  const auto back = decoded(encoded(some()));
  ASSERT_TRUE(back);
  EXPECT_EQ(encoded(*back), encoded(some()));
  EXPECT_EQ(back->when, some().when);
  EXPECT_EQ(back->rates, some().rates);
  EXPECT_EQ(back->until, some().until);
  EXPECT_EQ(back->set_at, some().set_at);
  EXPECT_EQ(back->reason, some().reason);
  EXPECT_EQ(back->what, Steer::raise);
}

// Each of its bytes is needed, and no other may follow; whatever takes the place of one is read or refused.
TEST(OperatorOverride, is_not_read_from_other_bytes) {
  const std::string bytes = encoded(some());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decoded(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decoded(bytes + "x"));
  EXPECT_FALSE(decoded(bytes + "1:x"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char each : {'\0', '9', ':', '-', '\xff'}) {
      std::string other = bytes;
      other[at] = each;
      (void)decoded(other);
    }
  }
  EXPECT_FALSE(decoded("1:73:foo"));
  EXPECT_FALSE(decoded("99999999999999999999:7"));
}

TEST(OperatorOverride, tells_itself) {
  EXPECT_EQ(to_text(some().when), "user=a:1,\n\"x\" ip=10.0.0.0/8");
  EXPECT_EQ(to_text(Selector()), "ALL");
  EXPECT_EQ(to_text({{"user", "a b"}, {"ip", "\""}, {"x", "a \\ b=\"c\""}}),
            R"(user=a b ip="\"" x="a \\ b=\"c\"")");
  EXPECT_EQ(described(some()), "raise 1/s, unlimited/day until 2027-01-15T08:00:00.000Z");
  for (const Steer each : {Steer::ban, Steer::raise, Steer::lower, Steer::shadow_on, Steer::shadow_off})
    EXPECT_EQ(read_steer(name_of(each)), each);
  EXPECT_FALSE(read_steer("BAN"));
}

TEST(OperatorOverride, is_read_as_it_was_told) {
  const std::vector<std::string> values = {"",         "a",      "a b",    "a ", " ",     "=",
                                           "a=b",      "a b=c",  " x=",    "\"", "\"a\"", "\"a\" b=c",
                                           "a\" b=\"", "\\ =\\", "a\n b=", "ALL"};
  for (const std::string& one : values) {
    for (const std::string& other : values) {
      const Selector when = {{"user", one}, {"ip", other}};
      EXPECT_EQ(read_selector(to_text(when)), when) << to_text(when);
      EXPECT_EQ(read_selector(to_text({{"u.x-1", one}})), (Selector{{"u.x-1", one}}));
    }
  }
  EXPECT_EQ(read_selector("ALL"), Selector());
  EXPECT_EQ(read_selector("user=\"a"), (Selector{{"user", "\"a"}}));  // as an older server tells it
}

TEST(OperatorOverride, has_the_words_of_another_in_any_order_but_not_by_chance) {
  EXPECT_EQ(words_of(Steer::ban, "l", {{"a", "1"}, {"b", "2"}}),
            words_of(Steer::ban, "l", {{"b", "2"}, {"a", "1"}}));
  EXPECT_NE(words_of(Steer::ban, "l", {{"a", "1"}}), words_of(Steer::raise, "l", {{"a", "1"}}));
  EXPECT_NE(words_of(Steer::ban, "l", {{"a", "12"}}), words_of(Steer::ban, "l", {{"a1", "2"}}));
  EXPECT_NE(words_of(Steer::ban, "l", {}), words_of(Steer::ban, "m", {}));
}

TEST(OperatorOverride, is_sought_when_a_word_may_be_many) {
  EXPECT_TRUE(is_sought({{"user", "a*"}}));
  EXPECT_TRUE(is_sought({{"user", "a"}, {"ip", "10.0.0.0/8"}}));
  EXPECT_FALSE(
      is_sought({{"user", "a"}, {"ip", "10.0.0.1"}, {"net", "10.0.0.1/32"}, {"six", "2001:db8::1"}}));
  EXPECT_FALSE(is_sought({}));
}

}  // namespace
}  // namespace weir::steering
