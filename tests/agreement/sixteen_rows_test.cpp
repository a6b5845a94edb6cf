// The field's acceptance table: limit 5, one a second. redis-cell and throttled share its first fifteen rows;
// the last is ours: after waiting the retry_after a request passes. Through the rule, the table, and the
// wire.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/gcra.hpp"
#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::sixteen_rows_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Row {
  int at_ms;
  std::uint64_t cost;
  bool limited;
  std::int64_t remaining;
  int retry_ms;  // -1: absent
  int reset_ms;
};

constexpr std::array<Row, 16> kRows = {{
    {0, 6, true, 5, -1, 0},
    {0, 1, false, 4, -1, 1000},
    {0, 1, false, 3, -1, 2000},
    {0, 1, false, 2, -1, 3000},
    {0, 1, false, 1, -1, 4000},
    {0, 1, false, 0, -1, 5000},
    {0, 1, true, 0, 1000, 5000},
    {3000, 1, false, 2, -1, 3000},
    {3100, 1, false, 1, -1, 3900},
    {4000, 1, false, 1, -1, 4000},
    {8000, 1, false, 4, -1, 1000},
    {9500, 1, false, 4, -1, 1000},
    {9500, 0, false, 4, -1, 1000},
    {9500, 2, false, 2, -1, 3000},
    {9500, 5, true, 2, 3000, 3000},
    {12500, 5, false, 0, -1, 5000},
}};

constexpr Quota kQuota = Quota::per_second(1).with_burst(5);
constexpr milliseconds kStart{1'000'000};

void expect(const Decision& decision, const Row& row) {
  EXPECT_EQ(decision.allowed(), !row.limited);
  EXPECT_EQ(decision.limit, 5);
  EXPECT_EQ(decision.remaining, row.remaining);
  EXPECT_EQ(decision.retry_after.value_or(milliseconds{-1}), milliseconds{row.retry_ms});
  EXPECT_EQ(decision.reset_after, milliseconds{row.reset_ms});
}

TEST(SixteenRows, through_the_rule) {
  core::gcra::State state;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    SCOPED_TRACE(i);
    const core::gcra::Step step =
        core::gcra::decide(kQuota, state, kStart + milliseconds{kRows[i].at_ms}, Cost{kRows[i].cost});
    if (step.changes) state = step.next;
    expect(step.decision(), kRows[i]);
  }
}

TEST(SixteenRows, through_the_table) {
  store::Table table(1_MiB, WhenFull::deny);
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    SCOPED_TRACE(i);
    const nanoseconds now = kStart + milliseconds{kRows[i].at_ms};
    expect(table.check(table.locate("foo"), kQuota, Cost{kRows[i].cost}, now), kRows[i]);
  }
}

std::string integer(int value) { return ":" + std::to_string(value) + "\r\n"; }

TEST(SixteenRows, through_the_wire) {
  nanoseconds now = kStart;
  store::EmbeddedStore embedded(1_MiB);
  service::Service service({.clock = [&now] { return now; }}, embedded.table());
  resp::RespLoop shared(service, embedded);
  resp::Conversation conversation(service, shared, {1, "test"}, [] {});
  const auto seconds = [](int ms) { return ms < 0 ? -1 : (ms + 999) / 1000; };
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
    SCOPED_TRACE(i);
    now = kStart + milliseconds{row.at_ms};
    std::string out;
    conversation.feed("CL.THROTTLE foo 4 1 1 " + std::to_string(row.cost) + "\r\n", out, {now, now});
    EXPECT_EQ(out, "*5\r\n" + integer(row.limited ? 1 : 0) + integer(5) +
                       integer(static_cast<int>(row.remaining)) + integer(seconds(row.retry_ms)) +
                       integer(seconds(row.reset_ms)));
  }
}

}  // namespace
}  // namespace weir::sixteen_rows_test
