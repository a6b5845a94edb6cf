#include "store/greatest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::greatest_test {
namespace {

Greatest furthest(std::uint64_t n, const std::vector<std::uint64_t>& numbers) {
  Greatest found;
  EXPECT_TRUE(find_furthest(
      n,
      [&](const auto& visit) {
        std::for_each(numbers.begin(), numbers.end(), visit);
        return true;
      },
      found));
  EXPECT_EQ(found.all, numbers.size());
  return found;
}

std::vector<std::uint64_t> taken(std::uint64_t n, const std::vector<std::uint64_t>& numbers) {
  Greatest found = furthest(n, numbers);
  std::vector<std::uint64_t> result;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(result),
               [&](std::uint64_t number) { return found.takes(number); });
  return result;
}

TEST(Greatest, takes_all_when_there_are_no_more) {
  EXPECT_EQ(taken(3, {1, 2, 3}), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(taken(3, {}), (std::vector<std::uint64_t>{}));
}

TEST(Greatest, takes_as_many_as_asked_for_though_all_are_equal) {
  EXPECT_EQ(taken(2, {7, 7, 7, 7}), (std::vector<std::uint64_t>{7, 7}));
  EXPECT_EQ(taken(0, {7, 7}), (std::vector<std::uint64_t>{}));
}

TEST(Greatest, takes_the_greatest_of_numbers_of_every_size) {
  core::Chance chance;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> numbers;
    for (std::int64_t i = chance.up_to(300); i >= 0; --i) {
      // Of all magnitudes, and with a few that are equal or differ in one digit only.
      const auto bits = static_cast<unsigned>(chance.up_to(62));
      numbers.push_back(1 + static_cast<std::uint64_t>(chance.up_to(std::int64_t{1} << bits)));
    }
    const auto n = static_cast<std::uint64_t>(chance.up_to(static_cast<std::int64_t>(numbers.size())));
    std::vector<std::uint64_t> result = taken(n, numbers);
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    numbers.resize(n);
    std::sort(result.begin(), result.end(), std::greater<>());
    ASSERT_EQ(result, numbers);
  }
}

TEST(Greatest, a_reading_that_fails_is_told) {
  Greatest found;
  EXPECT_FALSE(find_furthest(1, [](const auto&) { return false; }, found));
}

}  // namespace
}  // namespace weir::store::greatest_test
