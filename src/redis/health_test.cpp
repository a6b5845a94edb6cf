#include "redis/health.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct Patient {
  Health health;
  nanoseconds now = 1000s;
  std::string error;
  bool connected = true;

  // "ready", "failing: OOM": after that time.
  std::string after(nanoseconds time) {
    now += time;
    health.look(connected, error, now);
    const Health::View& view = health.view();
    return std::string(name_of(view.state)) + (view.why.empty() ? "" : ": " + view.why);
  }
  std::string state() { return after(0ns); }
  void decided(int times = 1) {
    for (int i = 0; i < times; ++i) health.decided(now);
  }
  void refused(const std::string& why, int times = 1) {
    for (int i = 0; i < times; ++i) health.refused(why, now);
  }
};

TEST(Health, what_the_connection_alone_says) {
  Patient it;
  it.connected = false;
  EXPECT_EQ(it.state(), "connecting");
  it.error = "h:1: refused";
  EXPECT_EQ(it.state(), "down: h:1: refused");
  it.connected = true;
  EXPECT_EQ(it.state(), "ready");
  it.connected = false;
  EXPECT_EQ(it.state(), "down: h:1: refused");
}

TEST(Health, a_store_that_refuses_every_call_is_failing_and_ready_when_it_decides) {
  Patient it;
  EXPECT_EQ(it.state(), "ready");
  it.refused("OOM no");
  EXPECT_EQ(it.state(), "failing: OOM no");
  it.refused("BUSY no");
  EXPECT_EQ(it.state(), "failing: BUSY no");
  EXPECT_EQ(it.after(300ms), "failing: BUSY no");  // nothing has been asked
  it.decided();
  EXPECT_EQ(it.state(), "ready");
  EXPECT_EQ(it.health.not_decided(), 2u);
}

TEST(Health, recovers_within_a_fifth_of_a_second_however_much_was_refused) {
  Patient it;
  EXPECT_EQ(it.state(), "ready");
  it.refused("OOM no", 1'000'000);
  EXPECT_EQ(it.state(), "failing: OOM no");
  for (int i = 0; i < 19; ++i) {
    it.decided();
    EXPECT_EQ(it.after(10ms), "failing: OOM no") << i;
  }
  it.decided();
  EXPECT_EQ(it.after(10ms), "ready");
}

TEST(Health, more_than_a_tenth_is_failing) {
  struct Row {
    int decided, refused;
    const char* state;
  };
  for (const Row& row : {Row{0, 1, "failing: x"}, Row{1, 1, "failing: x"}, Row{8, 1, "failing: x"},
                         Row{9, 1, "ready"}, Row{90, 10, "ready"}, Row{89, 10, "failing: x"}}) {
    for (const bool refused_first : {true, false}) {
      Patient it;
      EXPECT_EQ(it.state(), "ready");
      if (refused_first) it.refused("x", row.refused);
      it.decided(row.decided);
      if (!refused_first) it.refused("x", row.refused);
      EXPECT_EQ(it.state(), row.state) << row.decided << " " << row.refused;
    }
  }
}

// A third of a cluster that refuses: it is failing all the time, not at every other look.
TEST(Health, a_share_that_lasts_is_one_state) {
  Patient it;
  EXPECT_EQ(it.state(), "ready");
  const std::uint64_t before = it.health.changes();
  for (int i = 0; i < 10'000; ++i) {
    i % 3 == 0 ? it.refused("OOM no") : it.decided();
    EXPECT_EQ(it.after(1ms), "failing: OOM no") << i;
  }
  EXPECT_EQ(it.health.changes(), before + 1);
}

// One that asks no more because the store is failing hears of its recovery all the same.
TEST(Health, without_checks_a_refusal_is_forgotten_after_a_minute) {
  Patient it;
  EXPECT_EQ(it.state(), "ready");
  it.refused("OOM no");
  EXPECT_EQ(it.after(59s), "failing: OOM no");
  EXPECT_EQ(it.after(1s), "ready");
  it.refused("OOM no");
  EXPECT_EQ(it.state(), "failing: OOM no");
}

TEST(Health, a_new_connection_is_not_blamed_for_the_calls_of_none) {
  Patient it;
  it.connected = false;
  it.error = "h:1: refused";
  EXPECT_EQ(it.state(), "down: h:1: refused");
  it.refused("h:1: refused", 100);
  it.connected = true;
  EXPECT_EQ(it.state(), "ready");
  it.refused("OOM no");
  EXPECT_EQ(it.state(), "failing: OOM no");
}

}  // namespace
}  // namespace weir::redis
