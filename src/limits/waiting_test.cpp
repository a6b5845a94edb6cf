// How far a reservation that waits for one limit may lift the others that it meets (docs/algorithm.md,
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

TEST(Waiting, lifts_no_parent_into_what_is_kept_for_guarantees) {
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
  const auto acme = of("acme", "a");
  EXPECT_EQ(asker.check(acme), "allowed");
  // 24 units of the guarantee are 4.8 s; 49 of what the site does not reserve would be 4.9 s.
  EXPECT_EQ(asker.reserve(acme, 60s), "denied by site, in 3.2 s");
  asker.clock.time += 3200ms;
  EXPECT_EQ(asker.reserve(acme, 60s), "in 4.8 s");
  // The site owes 49 units, and everything that is guaranteed passes at once.
  for (int i = 0; i < 25; ++i) EXPECT_EQ(asker.check(of("globex", "g" + std::to_string(i))), "allowed") << i;
  // Of what its own tenant is guaranteed, the reservation has left nothing: one more waits for T at most.
  asker.clock.time += 200ms;
  EXPECT_EQ(asker.check(of("acme", "b")), "allowed");
}

TEST(Waiting, lifts_no_limit_so_far_that_the_lowest_class_waits_for_longer_than_its_own_cost) {
  Asker asker(R"(
version: 1
classes: [critical, default, bulk]
limits:
  tenant: { by: [tenant], rate: 10/s burst 100, leave: { default: 20%, bulk: 50% } }
  user: { by: [user], rate: 1/9s burst 1 }
)");
  const auto one = of("t", "a");
  EXPECT_EQ(asker.reserve(one, 0s, "critical"), "in 0 s");
  // 49 units are 4.9 s.
  EXPECT_EQ(asker.reserve(one, 60s, "critical"), "denied by tenant, in 4.1 s");
  asker.clock.time += 4100ms;
  EXPECT_EQ(asker.reserve(one, 60s, "critical"), "in 4.9 s");
  EXPECT_EQ(asker.check(of("t", "b"), "bulk"), "denied by tenant, in 100 ms");
  EXPECT_EQ(asker.check(of("t", "b"), "default"), "allowed");
}

TEST(Waiting, for_one_window_of_a_limit_lifts_the_others_as_far_as_it_takes) {
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

// What a limit that is waited for must be, so that a limit within it may be lifted as far as it takes.
TEST(Waiting, for_a_parent_lifts_its_children_unless_some_of_them_pass_the_parent) {
  struct Row {
    const char* tenant;  // beside its rate
    const char* told;
  };
  const char* const bounded = "denied by user, in 4.1 s";
  for (const auto& [tenant, told] : {
           Row{"", "in 5 s"},
           // Others of the same tenant may have other numbers, ...
           Row{", overrides: [{ when: { plan: gold }, rate: 100/5s }]", bounded},
           Row{", overrides: [{ when: { plan: gold }, rate: unlimited }]", bounded},
           // ... cost nothing, ...
           Row{", cost: [{ when: { path: /free }, cost: 0 }, { cost: 1 }]", bounded},
           Row{", cost: { from: tokens }", bounded},
           Row{", overrides: [{ when: { plan: gold }, cost: 0 }]", bounded},
           // ... or be exempt.
           Row{", allow: { plan: staff }", bounded},
           // An override, or a list, of whole keys leaves them alike.
           Row{", overrides: [{ when: { tenant: [acme, 'big-*'] }, rate: 100/5s }]", "in 5 s"},
           Row{", overrides: [{ when: { tenant: acme, plan: gold }, rate: 100/5s }]", bounded},
           Row{", allow: { tenant: staff }", "in 5 s"},
           Row{", deny: { plan: banned }", "in 5 s"},
           Row{", cost: [{ when: { path: /dear }, cost: 2 }, { cost: 1 }]", "in 5 s"},
           Row{", cost: 1", "in 5 s"},
           Row{", overrides: [{ when: { plan: gold }, cost: 2 }]", "in 5 s"},
           // Of an address a pattern tells two spellings apart, a network more than the key does.
           Row{", overrides: [{ when: { tenant: '2001:db8::*' }, rate: 100/5s }]", bounded},
       }) {
    Asker asker("version: 1\nlimits:\n  tenant: { by: [tenant], rate: 1/5s burst 2" + std::string(tenant) +
                " }\n  user: { by: [tenant, user], within: tenant, rate: 10/s burst 10 }\n");
    Asker::Words one = of("t", "a");
    one.push_back({"tokens", "1"});
    EXPECT_EQ(asker.check(one, {}, 2), "allowed") << tenant;
    EXPECT_EQ(asker.reserve(one, 60s), told) << tenant;
  }
}

// Others meet the parent without the child.
TEST(Waiting, for_a_child_lifts_its_parent_no_further_than_it_absorbs) {
  Asker asker(R"(
version: 1
limits:
  tenant: { by: [tenant], rate: 10/s burst 10 }
  user: { by: [tenant, user], within: tenant, rate: 1/5s burst 1 }
)");
  EXPECT_EQ(asker.check(of("t", "a")), "allowed");
  EXPECT_EQ(asker.reserve(of("t", "a"), 60s), "denied by tenant, in 4.1 s");
}

// Two limits that are lifted for a third are judged each for itself.
TEST(Waiting, for_a_parent_lifts_a_stranger_no_further_than_it_absorbs) {
  Asker asker(R"(
version: 1
limits:
  tenant: { by: [tenant], rate: 1/5s burst 1 }
  user: { by: [tenant, user], within: tenant, rate: 10/s burst 10 }
  path: { by: [path], rate: 2/s burst 4 }
)");
  Asker::Words one = of("t", "a");
  one.push_back({"path", "/"});
  EXPECT_EQ(asker.check(one), "allowed");
  EXPECT_EQ(asker.reserve(one, 60s), "denied by path, in 3.5 s");
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
