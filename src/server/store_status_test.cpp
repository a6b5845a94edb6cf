#include "server/store_status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;
using redis::Health;

struct Loops {
  explicit Loops(std::size_t count) : status("redis://h", count), healths(count) {}

  // The line that a loop has to log, if any, after that time; "!" warns.
  std::string note(std::size_t loop, std::chrono::nanoseconds time = 0s) {
    now += time;
    healths[loop].look(up, error, now);
    const auto line = status.note(loop, healths[loop], now);
    return line ? (line->warns ? "! " : "") + line->text : "";
  }
  std::string worst() const {
    const auto view = status.worst();
    return std::string(name_of(view.state)) + (view.why.empty() ? "" : ": " + view.why);
  }

  std::chrono::nanoseconds now = 1000s;
  StoreStatus status;
  std::vector<Health> healths;
  bool up = true;
  std::string error;
};

TEST(StoreStatus, the_worst_loop_counts_whichever_it_is) {
  for (const std::size_t worst : {0U, 1U, 2U}) {
    Loops loops(3);
    loops.up = false;
    for (const std::size_t loop : {0U, 1U, 2U}) EXPECT_EQ(loops.note(loop), "");
    EXPECT_EQ(loops.worst(), "connecting");
    loops.up = true;
    EXPECT_EQ(loops.note(0), "");
    EXPECT_EQ(loops.note(1), "");
    EXPECT_EQ(loops.worst(), "connecting");
    EXPECT_EQ(loops.note(2), "store redis://h: ready");
    EXPECT_EQ(loops.worst(), "ready");
    loops.healths[worst].refused("OOM no", loops.now);
    EXPECT_EQ(loops.note(worst), "! store redis://h: failing: OOM no; --on-store-error decides");
    EXPECT_EQ(loops.worst(), "failing: OOM no");
    for (const std::size_t loop : {0U, 1U, 2U}) EXPECT_EQ(loops.note(loop, 10ms), "");
    EXPECT_EQ(loops.worst(), "failing: OOM no");
    loops.up = false;
    loops.error = "h:6379: refused";
    EXPECT_EQ(loops.note((worst + 1) % 3, 6s),
              "! store redis://h: down: h:6379: refused; --on-store-error decides");
    EXPECT_EQ(loops.worst(), "down: h:6379: refused");
  }
}

TEST(StoreStatus, trouble_that_lasts_is_said_again_at_intervals_with_how_many_it_met) {
  Loops loops(2);
  EXPECT_EQ(loops.note(0) + loops.note(1), "store redis://h: ready");
  int lines = 0;
  for (int second = 0; second < 600; ++second) {
    for (const std::size_t loop : {0U, 1U}) {
      for (int i = 0; i < 10; ++i) loops.healths[loop].refused("NOPERM no", loops.now);
      const std::string line = loops.note(loop, 500ms);
      if (line.empty()) continue;
      ++lines;
      EXPECT_EQ(line, lines == 1 ? "! store redis://h: failing: NOPERM no; --on-store-error decides"
                                 : "! store redis://h: still failing: NOPERM no; --on-store-error decides, "
                                   "1200 requests since this was last said");
    }
  }
  EXPECT_EQ(lines, 10);
}

TEST(StoreStatus, what_can_never_work_is_said_again_without_a_single_request) {
  Loops loops(1);
  loops.up = false;
  loops.error = "h:6379: WRONGPASS no";
  EXPECT_EQ(loops.note(0), "! store redis://h: down: h:6379: WRONGPASS no; --on-store-error decides");
  EXPECT_EQ(loops.note(0, 59s), "");
  EXPECT_EQ(loops.note(0, 1s),
            "! store redis://h: still down: h:6379: WRONGPASS no; --on-store-error decides, 0 requests since "
            "this was last said");
}

TEST(StoreStatus, another_cause_is_news) {
  Loops loops(1);
  loops.note(0);
  loops.healths[0].refused("OOM no", loops.now);
  EXPECT_NE(loops.note(0), "");
  loops.healths[0].refused("BUSY no", loops.now);
  EXPECT_EQ(loops.note(0), "");
  EXPECT_EQ(loops.note(0, 5s), "! store redis://h: failing: BUSY no; --on-store-error decides");
}

TEST(StoreStatus, recovery_is_one_line_once_it_has_lasted) {
  Loops loops(1);
  loops.note(0);
  loops.healths[0].refused("OOM no", loops.now);
  EXPECT_NE(loops.note(0), "");
  loops.healths[0].decided(loops.now += 1s);
  EXPECT_EQ(loops.note(0), "");
  EXPECT_EQ(loops.worst(), "ready");
  EXPECT_EQ(loops.note(0, 999ms), "");
  EXPECT_EQ(loops.note(0, 1ms), "store redis://h: ready");
  EXPECT_EQ(loops.note(0, 100s), "");
}

TEST(StoreStatus, a_store_that_comes_and_goes_does_not_fill_the_log) {
  Loops loops(1);
  loops.note(0);
  int lines = 0;
  for (int i = 0; i < 600; ++i) {
    i % 2 == 0 ? loops.healths[0].refused("OOM no", loops.now) : loops.healths[0].decided(loops.now);
    if (!loops.note(0, 1s).empty()) ++lines;
  }
  EXPECT_GE(lines, 10);
  EXPECT_LE(lines, 240);
}

TEST(StoreStatus, that_redis_cell_is_in_danger_is_said_once) {
  StoreStatus status("redis://h", 2);
  const auto line = status.note_redis_cell();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->warns);
  EXPECT_EQ(
      line->text,
      "store redis://h: the module redis-cell is loaded, and the keys of weir have no prefix: redis-cell "
      "aborts Redis when it is asked for one; expected a prefix");
  EXPECT_FALSE(status.note_redis_cell());
}

TEST(StoreStatus, that_reservations_of_a_former_build_are_forgotten_is_said_once) {
  StoreStatus status("redis://h", 2);
  const auto line = status.note_former_state();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->warns);
  EXPECT_EQ(line->text,
            "store redis://h: keys are there that a former build of weir has reserved from: what they owe "
            "counts, and those reservations are forgotten; their ids are unknown");
  EXPECT_FALSE(status.note_former_state());
}

TEST(StoreStatus, a_changed_eviction_policy_is_said_once) {
  StoreStatus status("redis://h", 2);
  const auto note = [&](const char* policy) {
    const auto line = status.note_eviction(policy);
    return line ? (line->warns ? "! " : "") + line->text : "";
  };
  EXPECT_EQ(note("noeviction"), "");
  EXPECT_EQ(
      note("allkeys-lru"),
      "! store redis://h: maxmemory-policy is allkeys-lru: under pressure it evicts limits that are in use, "
      "and those keys start from nothing; noeviction keeps them");
  EXPECT_EQ(note("allkeys-lru"), "");  // the other loop
  EXPECT_EQ(note("noeviction"), "store redis://h: maxmemory-policy is noeviction now: no limit is evicted");
  EXPECT_EQ(note("noeviction"), "");
}

TEST(StoreStatus, a_way_that_is_longer_than_the_deadline_is_said_again_and_again) {
  StoreStatus status("redis://h", 2);
  const auto note = [&](StoreStatus::nanoseconds round_trip, StoreStatus::nanoseconds now) {
    const auto line = status.note_round_trip(round_trip, 50ms, now);
    return line ? (line->warns ? "! " : "") + line->text : "";
  };
  EXPECT_EQ(note(0ns, 1s), "");
  EXPECT_EQ(note(49'999us, 1s), "");
  const std::string said =
      "! store redis://h: a round trip takes 120ms, and --store-deadline is 50ms: no answer comes in time, "
      "and "
      "--on-store-error decides every check; raise --store-deadline";
  EXPECT_EQ(note(119'100us, 1s), said);
  EXPECT_EQ(note(119'100us, 60s), "");  // the other loop
  EXPECT_EQ(note(119'100us, 61s), said);
}

}  // namespace
}  // namespace weir::server
