#include "service/decision_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::inline v0_1::service {
namespace {

using Said = DecisionCounts::Said;

DecisionCounts::Total total(std::uint64_t allowed, std::uint64_t denied, std::uint64_t would_deny = 0,
                            std::uint64_t banned = 0) {
  DecisionCounts::Total all;
  auto& decisions = all.limits["user"].decisions;
  decisions[static_cast<std::size_t>(Said::allowed)][0] = allowed;
  decisions[static_cast<std::size_t>(Said::denied)][1] = denied;
  decisions[static_cast<std::size_t>(Said::would_deny)][0] = would_deny;
  decisions[static_cast<std::size_t>(Said::listed)][0] = banned;
  all.limits["user"].banned = banned;
  return all;
}

TEST(DecisionSeries, has_what_each_second_brought) {
  DecisionSeries series;
  EXPECT_FALSE(series.of("user"));
  series.sample(total(5, 1));
  series.sample(total(5, 1));
  series.sample(total(12, 4, 2));
  const auto of = *series.of("user");
  EXPECT_EQ(of.allowed[DecisionSeries::kSteps - 3], 5);
  EXPECT_EQ(of.allowed[DecisionSeries::kSteps - 2], 0);
  EXPECT_EQ(of.allowed[DecisionSeries::kSteps - 1], 7);
  EXPECT_EQ(of.denied[DecisionSeries::kSteps - 1], 3);
  EXPECT_EQ(of.would_deny[DecisionSeries::kSteps - 1], 2);
  EXPECT_EQ(of.allowed[0], 0);
  EXPECT_EQ(series.lately("user").allowed, 12);
  EXPECT_EQ(series.lately("user").denied, 4);
  EXPECT_EQ(series.lately("another").allowed, 0);
}

TEST(DecisionSeries, says_how_much_of_what_is_denied_a_ban_has_denied) {
  DecisionSeries series;
  series.sample(total(0, 0));
  series.sample(total(0, 2, 0, 7));
  EXPECT_EQ(series.of("user")->denied.back(), 9);
  EXPECT_EQ(series.of("user")->banned.back(), 7);
  EXPECT_EQ(series.lately("user").banned, 7);
}

TEST(DecisionSeries, forgets_what_is_older_than_its_steps_and_limits_that_have_gone) {
  DecisionSeries series;
  series.sample(total(5, 0));
  for (std::size_t i = 0; i < DecisionSeries::kSteps; ++i) series.sample(total(5, 0));
  const auto nothing = *series.of("user");
  EXPECT_EQ(std::count(nothing.allowed.begin(), nothing.allowed.end(), 0U), DecisionSeries::kSteps);
  EXPECT_EQ(series.lately("user").allowed, 0);
  series.sample({});
  EXPECT_FALSE(series.of("user"));
  series.sample(total(3, 0));  // it has come back, and counts from 0
  EXPECT_EQ(series.of("user")->allowed.back(), 3);
}

}  // namespace
}  // namespace weir::service
