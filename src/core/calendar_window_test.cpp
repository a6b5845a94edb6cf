// Examples that can be read aloud.
#include "core/calendar_window.hpp"

#include "core/overdraft.hpp"
#include "core/play_test.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using enum Verdict;
using std::chrono::days;
using std::chrono::nanoseconds;

Rule rule_of(const std::string& text) {
  use_time_zones(test_zones());
  return Rule::parse(text).value();
}

TEST(CalendarWindow, a_month_has_its_own_days) {
  const Rule rule = rule_of("3/month align=calendar");
  const nanoseconds march = utc(2026, 3, 1);
  Key key;
  play(key.under(rule), {{march, 2, allowed, 1, kNone, days{31}},
                         {march + days{30}, 2, denied, 1, days{1}, days{1}},
                         {march + days{31} - 1ns, 1, allowed, 0, kNone, 1ns},
                         {march + days{31} - 1ns, 1, denied, 0, 1ns, 1ns},
                         {march + days{31}, 3, allowed, 0, kNone, days{30}},
                         {march + days{31}, 4, never, 0, kNone, days{30}},
                         {march + days{61}, 0, allowed, 3, kNone, 0s},
                         {march + days{61}, 1, allowed, 2, kNone, days{31}}});
}

TEST(CalendarWindow, a_clock_that_goes_back_stays_in_the_window_that_has_begun) {
  const Rule rule = rule_of("3/day align=calendar");
  const nanoseconds midnight = utc(2026, 11, 24);
  Key key;
  play(key.under(rule), {{midnight, 2, allowed, 1, kNone, days{1}},
                         {midnight - 1h, 1, allowed, 0, kNone, 25h},
                         {midnight - 1h, 1, denied, 0, 25h, 25h},
                         {midnight + 1h, 1, denied, 0, 23h, 23h},
                         {midnight + 24h, 1, allowed, 2, kNone, 24h}});
}

// A clock in UTC of its own: it is read for each decision, and steps.
TEST(CalendarWindow, goes_by_its_clock_which_may_step) {
  nanoseconds wall = utc(2026, 11, 24, 12h);
  const ClockFunction clock = [&wall] { return wall; };
  const Rule rule = rule_of("3/day align=calendar").on_clock(0s, &clock);
  Key key;
  EXPECT_EQ(key.ask(rule, 5s, Cost{3}).reset_after, 12h);
  wall += 6h;  // forwards, which nobody waited for
  EXPECT_EQ(key.ask(rule, 6s, Cost{1}).retry_after, 6h);
  wall -= 12h;
  EXPECT_EQ(key.ask(rule, 7s, Cost{1}).retry_after, 18h);
  wall = utc(2026, 11, 25, 23h);
  EXPECT_EQ(key.ask(rule, 8s, Cost{2}).reset_after, 1h);
  wall = utc(2026, 11, 24, 23h);  // a day too early: the 25th has begun, and goes on
  EXPECT_EQ(key.ask(rule, 9s, Cost{2}).retry_after, 25h);
  EXPECT_EQ(key.ask(rule, 10s, Cost{1}).reset_after, 25h);
  wall = utc(2026, 11, 26);
  EXPECT_EQ(key.ask(rule, 11s, Cost{3}).verdict, allowed);
}

// A clock that is an hour slow when the window should end: what was used is there all the same.
TEST(CalendarWindow, a_state_outlives_its_window) {
  const Rule rule = rule_of("3/month align=calendar");
  nanoseconds wall = utc(2026, 11, 30, 23h);
  const ClockFunction clock = [&wall] { return wall; };
  const Rule stepping = rule.on_clock(0s, &clock);
  Key key;
  EXPECT_EQ(key.ask(stepping, 1h, Cost{3}).reset_after, 1h);
  wall -= 20h;
  EXPECT_EQ(key.ask(stepping, 2h + 1min, Cost{1}).verdict, denied);
}

TEST(CalendarWindow, another_zone_counts_the_same_date_on) {
  const Rule east = rule_of("3/month align=calendar tz=East/Most");
  const Rule west = rule_of("3/month align=calendar tz=West/Most");
  const nanoseconds november = utc(2026, 11, 10);
  Key key;
  EXPECT_EQ(key.ask(east, november, Cost{2}).verdict, allowed);
  EXPECT_EQ(key.ask(west, november, Cost{2}).verdict, denied);
  // The east's December has begun, the west's has not: its November goes on, 26 hours longer.
  EXPECT_EQ(key.ask(west, utc(2026, 12, 1, 11h), Cost{2}).retry_after, 1h);
  EXPECT_EQ(key.ask(west, utc(2026, 12, 1, 11h), Cost{1}).verdict, allowed);
  EXPECT_EQ(key.ask(east, utc(2026, 12, 1, 11h), Cost{3}).verdict, allowed);
  EXPECT_EQ(key.ask(west, utc(2026, 12, 1, 11h), Cost{1}).retry_after, days{31} + 1h);
}

TEST(CalendarWindow, numbers_that_change_move_no_debt) {
  const nanoseconds now = utc(2026, 11, 24);
  Key key;
  EXPECT_EQ(key.ask(rule_of("3/month align=calendar"), now, Cost{3}).remaining, 0);
  EXPECT_EQ(key.ask(rule_of("5/month align=calendar"), now, Cost{1}).remaining, 1);
  EXPECT_EQ(key.ask(rule_of("2/month align=calendar"), now, Cost{1}).verdict, denied);
  EXPECT_EQ(key.ask(rule_of("5/month align=calendar"), now, Cost{0}).remaining, 1);
}

TEST(CalendarWindow, is_charged_afterwards_beyond_its_number_and_forgets_with_its_end) {
  const Rule rule = rule_of("10/month align=calendar tz=Middle/Nowhere");
  const nanoseconds now = utc(2026, 11, 24);
  const nanoseconds left = utc(2026, 11, 30, 23h) - now;
  Overdrawn told = overdraw(rule, {}, now, Outside{Cost{14}});
  EXPECT_EQ(told.charged, 14u);
  EXPECT_EQ(told.overdraft, 4u);
  EXPECT_EQ(told.wait, left);
  EXPECT_EQ(told.reset_after, left);
  EXPECT_EQ(decide(rule, told.next, now + left - 1ns, Cost{1}).verdict, denied);
  EXPECT_EQ(decide(rule, told.next, now + left, Cost{10}).verdict, allowed);
  told = overdraw(rule, told.next, now + left, Outside{Remaining{3}});
  EXPECT_EQ(told.charged, 7u);
  EXPECT_EQ(told.wait, 0s);
  EXPECT_EQ(decide(rule, told.next, now + left, Cost{3}).remaining, 0u);
  told = overdraw(rule, told.next, now + left, Outside{Cost{~std::uint64_t{0}}});
  EXPECT_EQ(told.charged, 4294967295u - 7);
}

TEST(CalendarWindow, the_most_that_it_counts) {
  const Rule rule = rule_of("68719476735/year align=calendar");
  const nanoseconds now = utc(2221, 6, 1);
  Key key;
  EXPECT_EQ(key.ask(rule, now, Cost{68719476734}).remaining, 1);
  EXPECT_EQ(key.ask(rule, now, Cost{1}).remaining, 0);
  EXPECT_EQ(key.state.word >> 63, 0u);
  EXPECT_EQ(key.ask(rule, now, Cost{1}).retry_after, utc(2222, 1, 1) - now);
}

}  // namespace
}  // namespace weir::core
