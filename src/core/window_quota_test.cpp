#include "core/window_quota.hpp"

#include <gtest/gtest.h>

#include "core/rule.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

TEST(WindowQuota, has_any_count_and_admits_exactly_that) {
  struct Row {
    std::int64_t count;
    std::chrono::nanoseconds period;
    bool of_all_algorithms;  // a quota that drains has it too
  };
  for (const Row& row : {Row{1, 1s, true}, Row{3'000'000, 1s, false}, Row{350'000'000, 1min, false},
                         Row{4'294'967'295, 1s, false}, Row{4'294'967'295, 24h * 365, true}}) {
    const Quota quota = WindowQuota::of(row.count, row.period);
    const auto drains = Quota::make({row.count, row.period}, row.count);
    EXPECT_EQ(drains.has_value(), row.of_all_algorithms) << row.count;
    EXPECT_EQ(drains.value_or(quota), quota);
    const Rule rule{quota, Algorithm::fixed_window_clock};
    const auto all = static_cast<std::uint64_t>(row.count);
    EXPECT_EQ(decide(rule, {}, 1s, Cost{all + 1}).verdict, Verdict::never);
    const Step filled = decide(rule, {}, 1s, Cost{all});
    EXPECT_EQ(filled.verdict, Verdict::allowed);
    EXPECT_EQ(decide(rule, filled.next, 1s, Cost{1}).verdict, Verdict::denied);
    EXPECT_EQ(decide(rule, filled.next, 1s + row.period, Cost{1}).verdict, Verdict::allowed);
  }
}

}  // namespace
}  // namespace weir::core
