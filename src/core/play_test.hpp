// Tables of requests for the unit tests: one row, one request.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/rule.hpp"

namespace weir::inline v0_1::core {

inline constexpr std::chrono::nanoseconds kNone{-1};

struct Row {
  std::chrono::nanoseconds at;
  std::uint64_t cost;
  Verdict verdict;
  std::int64_t remaining;
  std::chrono::nanoseconds retry_after;  // kNone: absent
  std::chrono::nanoseconds reset_after;
};

// `ask(now, cost)` decides the rows in turn.
template <class Ask>
void play(Ask ask, const std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Decision decision = ask(row.at, Cost{row.cost});
    EXPECT_EQ(decision.verdict, row.verdict) << "row " << i;
    EXPECT_EQ(decision.remaining, row.remaining) << "row " << i;
    EXPECT_EQ(decision.retry_after.value_or(kNone), row.retry_after) << "row " << i;
    EXPECT_EQ(decision.reset_after, row.reset_after) << "row " << i;
  }
}

// A key whose state is two words. The rule may change between two requests.
struct Key {
  TwoWords state{};

  Decision ask(const Rule& rule, std::chrono::nanoseconds now, Cost cost) {
    const Step step = decide(rule, state, now, cost);
    EXPECT_EQ(step.limit, rule.quota.rate().count);
    EXPECT_TRUE(step.changes || step.next == state);
    EXPECT_TRUE(!step.changes || (step.verdict == Verdict::allowed && cost.units != 0));
    state = step.next;
    return step.decision();
  }
  auto under(const Rule& rule) {
    return [this, rule](std::chrono::nanoseconds now, Cost cost) { return ask(rule, now, cost); };
  }
};

}  // namespace weir::core
