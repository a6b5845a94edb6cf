#include "service/guesses.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;

TEST(Guesses, of_an_address_are_bounded_and_no_other_one_pays_for_it) {
  std::chrono::nanoseconds now = 1000s;
  Guesses guesses([&now] { return now; });
  const auto guess = [&guesses](std::string_view address) {
    unsigned compared = 0;
    for (int i = 0; i < 1000; ++i) {
      if (!guesses.may_come_from(address)) continue;
      guesses.came_from(address);
      ++compared;
    }
    return compared;
  };
  EXPECT_EQ(guess("192.0.2.1"), Guesses::kASecond);
  EXPECT_EQ(guess("::ffff:192.0.2.1"), 0U) << "the same address";
  EXPECT_TRUE(guesses.may_come_from("192.0.2.2"));
  EXPECT_EQ(guess("2001:db8::1"), Guesses::kASecond);
  EXPECT_FALSE(guesses.may_come_from("2001:db8::ffff:1")) << "of the same /64";
  EXPECT_TRUE(guesses.may_come_from("2001:db8:0:1::1"));
  EXPECT_EQ(guess("unix"), Guesses::kASecond);
  now += 500ms;
  EXPECT_EQ(guess("192.0.2.1"), Guesses::kASecond / 2);
  now += 10s;
  EXPECT_EQ(guess("192.0.2.1"), Guesses::kASecond);
}

}  // namespace
}  // namespace weir::service
