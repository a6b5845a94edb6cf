#include "steering/override_book.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace weir::inline v0_1::steering {
namespace {

using limits::Steer;
using namespace std::chrono_literals;

limits::Time at(std::int64_t when) { return limits::Time(std::chrono::seconds{when}); }

OperatorOverride ban(std::uint64_t number, const std::string& user, std::int64_t until = 100,
                     const std::string& limit = "l") {
  return {.number = number,
          .what = Steer::ban,
          .limit = limit,
          .limit_id = limit,
          .when = {{"user", user}},
          .rates = {},
          .until = at(until),
          .reason = "r",
          .user = "u",
          .set_at = at(0)};
}

std::string numbers(const std::vector<OverrideBook::Ptr>& some) {
  std::string text;
  for (const auto& each : some) text += (text.empty() ? "" : " ") + std::to_string(each->number);
  return text;
}

TEST(OverrideBook, the_later_of_two_with_the_same_words_stays) {
  OverrideBook book;
  EXPECT_EQ(book.next_number(), 1U);
  book.set(ban(1, "a"));
  book.set(ban(2, "b"));
  book.set(ban(5, "a"));
  EXPECT_EQ(numbers(book.list("", 0, 10)), "2 5");
  book.set(ban(3, "a"));  // it took its number earlier, and was kept later
  EXPECT_EQ(numbers(book.list("", 0, 10)), "2 3");
  EXPECT_EQ(book.next_number(), 6U);
  EXPECT_EQ(book.find(words_of(Steer::ban, "l", {{"user", "a"}}))->number, 3U);
}

TEST(OverrideBook, numbers_do_not_come_back) {
  OverrideBook book;
  book.set(ban(4, "a"));
  EXPECT_EQ(book.end(4)->number, 4U);
  EXPECT_EQ(book.end(4), nullptr);
  EXPECT_EQ(book.size(), 0U);
  EXPECT_EQ(book.next_number(), 5U);
  book.skip_to(9);
  book.skip_to(8);
  EXPECT_EQ(book.next_number(), 10U);
}

TEST(OverrideBook, lists_some_after_a_number_of_one_limit_or_of_all) {
  OverrideBook book;
  for (std::uint64_t i = 1; i <= 6; ++i)
    book.set(ban(i, std::to_string(i), 100, i % 2 == 0 ? "even" : "odd"));
  EXPECT_EQ(numbers(book.list("", 0, 3)), "1 2 3");
  EXPECT_EQ(numbers(book.list("", 3, 9)), "4 5 6");
  EXPECT_EQ(numbers(book.list("even", 2, 9)), "4 6");
  EXPECT_EQ(numbers(book.list("none", 0, 9)), "");
}

TEST(OverrideBook, knows_whose_end_has_come) {
  OverrideBook book;
  book.set(ban(1, "a", 30));
  book.set(ban(2, "b", 10));
  book.set(ban(3, "c", 20));
  EXPECT_EQ(numbers(book.ended(at(9))), "");
  EXPECT_EQ(numbers(book.ended(at(20))), "2 3");
  book.set(ban(4, "b", 50));
  EXPECT_EQ(numbers(book.ended(at(40))), "3 1");
}

TEST(OverrideBook, has_room_for_100000_of_which_1000_are_sought) {
  OverrideBook book;
  const auto refused = [&](const std::string& user) {
    return book.refuses(Steer::ban, "l", {{"user", user}}).value_or("");
  };
  for (std::uint64_t i = 1; i <= OverrideBook::kMostSought; ++i) book.set(ban(i, std::to_string(i) + "*"));
  EXPECT_EQ(refused("x*"), "1000 overrides with a pattern or a CIDR are in force: lift some first");
  EXPECT_EQ(refused("7*"), "");  // it replaces one
  EXPECT_EQ(refused("x"), "");
  for (std::uint64_t i = OverrideBook::kMostSought + 1; i <= OverrideBook::kMost; ++i)
    book.set(ban(i, std::to_string(i)));
  EXPECT_EQ(refused("x"), "100000 overrides are in force: lift some first");
  EXPECT_EQ(refused("2000"), "");
  book.end(7);
  EXPECT_EQ(refused("x"), "");
  EXPECT_EQ(refused("x*"), "");
}

}  // namespace
}  // namespace weir::steering
