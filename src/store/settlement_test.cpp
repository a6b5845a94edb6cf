#include "store/settlement.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::inline v0_1::store::settlement_test {
namespace {

// What each of them cost, or why nothing is settled.
std::string settled(const ReservationTerms& asked, std::vector<SettledCharge> charges) {
  if (auto why = settle_each(asked, charges)) return *why;
  std::string text;
  for (const SettledCharge& each : charges) text += (text.empty() ? "" : " ") + std::to_string(each.cost);
  return text;
}

// tpm with two windows, rpm whose hold says no estimate, and a limit without a hold.
constexpr std::uint64_t kTpm = 1, kTpmOfDay = 2, kRpm = 3, kOther = 4;
const std::vector<SettledCharge> kAll = {
    {kTpm, 2000}, {kTpmOfDay, 2000}, {kRpm, 1, true, false}, {kOther, 1, false, true}};
const Actual kTpmIs1500{"tpm", {kTpm, kTpmOfDay}, 1500};

TEST(Settlement, says_what_each_limit_cost) {
  EXPECT_EQ(settled({.actual = 70}, kAll), "70 70 1 1") << "the limits that an actual is for";
  EXPECT_EQ(settled({}, kAll), "2000 2000 1 1") << "nothing is said: what was charged";
  EXPECT_EQ(settled({.actuals = {kTpmIs1500}}, kAll), "1500 1500 1 1") << "the others: what was charged";
  EXPECT_EQ(settled({.actuals = {{"rpm", {kRpm}, 3}}}, kAll), "2000 2000 3 1")
      << "by name each can be settled";
  EXPECT_EQ(settled({.actual = 5}, {{kRpm, 1, true, false}, {kOther, 1, false, true}}), "5 1")
      << "where an actual is for none of them, it is for all with a hold";
}

TEST(Settlement, refuses_what_cannot_be_meant) {
  EXPECT_EQ(settled({.actual = 1}, {{kOther, 1, false}}),
            "no limit that the reservation was charged to has a hold, so there is nothing to settle");
  EXPECT_EQ(settled({.actuals = {{"tpd", {9}, 1}}}, kAll),
            "actual: the reservation has charged nothing to 'tpd' that can be settled");
  EXPECT_EQ(settled({.actuals = {{"other", {kOther}, 1}}}, kAll),
            "actual: the reservation has charged nothing to 'other' that can be settled");
}

}  // namespace
}  // namespace weir::store::settlement_test
