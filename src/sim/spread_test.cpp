#include "sim/spread.hpp"

#include <gtest/gtest.h>

#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

TEST(Resolution, is_the_coarsest_that_every_stamp_is_a_multiple_of) {
  Resolution resolution;
  EXPECT_EQ(resolution.ns(), kSecond);
  const struct {
    std::int64_t stamp;
    std::int64_t ns;
  } rows[] = {{0, kSecond},
              {1'800'000'000 * kSecond, kSecond},
              {kSecond / 2, kSecond / 10},
              {1'250'000'000, 10'000'000},
              {3 * kSecond, 10'000'000},
              {1'000, 1'000},
              {7, 1}};
  for (const auto& row : rows) {
    resolution.add(row.stamp);
    EXPECT_EQ(resolution.ns(), row.ns) << row.stamp;
  }
}

TEST(Spread, distributes_the_requests_of_a_stamp_in_their_order) {
  Spread spread(kSecond);
  std::vector<std::pair<std::int64_t, std::uint32_t>> got;
  const auto each = [&got](const logs::Event& event) { got.emplace_back(event.ns, event.client); };
  for (const logs::Event event :
       {logs::Event{0, 1, 7}, logs::Event{0, 1, 8}, logs::Event{0, 1, 9}, logs::Event{kSecond, 1, 4},
        logs::Event{5 * kSecond, 1, 3}, logs::Event{5 * kSecond, 1, 2}}) {
    spread.take(event, each);
  }
  spread.finish(each);
  const std::vector<std::pair<std::int64_t, std::uint32_t>> wanted{
      {0, 7},       {333'333'333, 8}, {666'666'666, 9},
      {kSecond, 4}, {5 * kSecond, 3}, {5 * kSecond + kSecond / 2, 2}};
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace weir::sim
