// What a reservation that waits for one limit leaves of the others that it meets (docs/algorithm.md,
// "Several limits"), by a limits file.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weir/limits.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct Steady : Clock {
  nanoseconds now() const noexcept override { return time; }
  nanoseconds time = 1000s;
};

class Asker {
 public:
  explicit Asker(std::string_view text)
      : limits_(Limits::from_text(text, {.memory = 1_MiB, .clock = &clock})) {}

  using Words = std::vector<Attribute>;

  // "in 0.8 s", or "denied by tenant, in 7 s".
  std::string reserve(const Words& words, nanoseconds max_wait, std::string_view class_name = {},
                      std::uint64_t cost = 1) {
    LimitsReservation told =
        limits_.reserve({words, Cost{cost}, class_name}, {.max_wait = max_wait, .hold = 0s});
    const auto seconds = [](nanoseconds time) {
      std::string text = std::to_string(std::chrono::duration<double>(time).count());
      text.erase(text.find_last_not_of('0') + 1);
      if (text.ends_with('.')) text.pop_back();
      return "in " + text + " s";
    };
    const Reservation& its = told.reservation;
    if (!told.granted())
      return "denied by " + told.by + ", " + seconds(its.decision().retry_after.value_or(-1s));
    kept_.push_back(std::move(told));
    return seconds(kept_.back().reservation.wait());
  }
  // How long it would have to wait.
  std::string check(const Words& words, std::string_view class_name = {}, std::uint64_t cost = 1) {
    const LimitsDecision told = limits_.check({words, Cost{cost}, class_name});
    if (told.allowed()) return "allowed";
    return "denied by " + told.by + ", in " +
           std::to_string(
               std::chrono::ceil<std::chrono::milliseconds>(told.decision.retry_after.value_or(-1s))
                   .count()) +
           " ms";
  }

  Steady clock;

 private:
  Limits limits_;
  std::vector<LimitsReservation> kept_{};  // destroyed, they would be cancelled
};

// Views what it is made of.
Asker::Words of(std::string_view tenant, std::string_view user) {
  return {{"tenant", tenant}, {"user", user}};
}

TEST(Waiting, takes_nothing_from_what_is_kept_for_guarantees) {
  Asker asker(R"(
version: 1
limits:
  site: { rate: 10/s burst 100, reserve: 50% }
  tenant:
    by: [tenant]
    within: site
    rate: 1000/s burst 100000
    overrides:
      - { when: { tenant: [acme, globex] }, guarantee: 5/s burst 25 }
  user: { by: [user], rate: 1/8s burst 1 }
routes:
  - { limits: [tenant, user] }
)");
  EXPECT_EQ(asker.check(of("acme", "a")), "allowed");
  EXPECT_EQ(asker.reserve(of("acme", "a"), 60s), "in 8 s");
  // It lies ahead: until then everything that is guaranteed passes at once, its own tenant's too.
  for (int i = 0; i < 25; ++i) EXPECT_EQ(asker.check(of("globex", "g" + std::to_string(i))), "allowed") << i;
  for (int i = 0; i < 24; ++i) EXPECT_EQ(asker.check(of("acme", "b" + std::to_string(i))), "allowed") << i;
  // What would borrow is told no moment ahead.
  EXPECT_EQ(asker.reserve(of("other", "o"), 60s), "denied by site, in 0.1 s");
}

TEST(Waiting, for_one_limit_a_lower_class_acts_at_the_other_meanwhile) {
  Asker asker(R"(
version: 1
classes: [critical, default, bulk]
limits:
  tenant: { by: [tenant], rate: 10/s burst 100, leave: { default: 20%, bulk: 50% } }
  user: { by: [user], rate: 1/9s burst 1 }
)");
  const auto one = of("t", "a");
  EXPECT_EQ(asker.reserve(one, 0s, "critical"), "in 0 s");
  EXPECT_EQ(asker.reserve(one, 60s, "critical"), "in 9 s");
  for (int i = 0; i < 49; ++i)
    EXPECT_EQ(asker.check(of("t", "b" + std::to_string(i)), "bulk"), "allowed") << i;
  EXPECT_EQ(asker.check(of("t", "b"), "bulk"), "denied by tenant, in 100 ms");
  EXPECT_EQ(asker.check(of("t", "b"), "default"), "allowed");
}

TEST(Waiting, for_one_window_of_a_limit_has_room_in_the_others_at_its_moment) {
  Asker asker(R"(
version: 1
limits:
  user: { by: [user], rate: [10/s burst 10, 1000/h burst 20], max_wait: 30s }
)");
  const Asker::Words user{{"user", "u"}};
  EXPECT_EQ(asker.check(user, {}, 10), "allowed");
  asker.clock.time += 1s;
  EXPECT_EQ(asker.check(user, {}, 10), "allowed");
  for (const char* moment : {"in 2.6 s", "in 6.2 s", "in 9.8 s", "in 13.4 s", "in 17 s", "in 20.6 s",
                             "in 24.2 s", "in 27.8 s", "denied by user, in 1.4 s"})
    EXPECT_EQ(asker.reserve(user, 30s), moment);
}

// It does not matter who else meets either of them, and what that costs there.
TEST(Waiting, for_one_limit_acts_as_soon_as_all_have_room) {
  for (const char* tenant :
       {"", ", overrides: [{ when: { plan: gold }, rate: unlimited }]",
        ", cost: [{ when: { path: /free }, cost: 0 }, { cost: 1 }]", ", allow: { plan: staff }"}) {
    Asker asker("version: 1\nlimits:\n  tenant: { by: [tenant], rate: 1/5s burst 2" + std::string(tenant) +
                " }\n  user: { by: [tenant, user], within: tenant, rate: 10/s burst 1 }\n");
    EXPECT_EQ(asker.check(of("t", "a")), "allowed") << tenant;
    EXPECT_EQ(asker.check(of("t", "b")), "allowed") << tenant;
    EXPECT_EQ(asker.reserve(of("t", "a"), 60s), "in 5 s") << tenant;
    EXPECT_EQ(asker.reserve(of("t", "b"), 60s), "in 10 s") << tenant;
  }
}

// At the parent it lies ahead, where it delays only those that would make it late.
TEST(Waiting, for_a_child_delays_nobody_who_acts_at_its_parent_before) {
  Asker asker(R"(
version: 1
limits:
  tenant: { by: [tenant], rate: 10/s burst 10 }
  user: { by: [tenant, user], within: tenant, rate: 1/5s burst 1 }
)");
  EXPECT_EQ(asker.check(of("t", "a")), "allowed");
  EXPECT_EQ(asker.reserve(of("t", "a"), 60s), "in 5 s");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(asker.check(of("t", "b" + std::to_string(i))), "allowed") << i;
  EXPECT_EQ(asker.check(of("t", "c")), "denied by tenant, in 100 ms");
  asker.clock.time += 4950ms;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(asker.check(of("t", "d" + std::to_string(i))), "allowed") << i;
  EXPECT_EQ(asker.check(of("t", "e")), "denied by tenant, in 100 ms");
}

// Drained long ago, what others hold open counts against nobody.
TEST(Waiting, what_others_hold_refuses_no_guaranteed_request) {
  Asker asker(R"(
version: 1
limits:
  site: { rate: 10/s burst 100, reserve: 20%, hold: { estimate: 10, ttl: 10s } }
  tenant:
    by: [tenant]
    within: site
    rate: 10/s burst 100
    overrides:
      - { when: { tenant: acme }, guarantee: 5/s burst 20 }
)");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(asker.reserve({{"tenant", "other"}}, 0s, {}, 10), "in 0 s");
  asker.clock.time += 2s;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(asker.reserve({{"tenant", "other"}}, 0s, {}, 10), "in 0 s");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(asker.reserve({{"tenant", "acme"}}, 0s, {}, 10), "in 0 s");
}

}  // namespace
}  // namespace weir
