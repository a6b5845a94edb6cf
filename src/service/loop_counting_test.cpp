#include "service/loop_counting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chance_test.hpp"
#include "core/time_zones_test.hpp"
#include "service/asker.hpp"
#include "service/asking.hpp"
#include "service/told.hpp"
#include "steering/shown_key.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using steering::TopKeys;

constexpr std::string_view kCountedFile = R"(version: 1
limits:
  tenant: { by: [tenant], rate: 3/h }
  user: { by: [tenant, user], rate: [2/min, 100/day] }
  ip: { by: [ip], group_ip: { v4: 24 }, rate: 1/h, deny: { ip: 192.0.2.1 } }
  slots: { by: [job], in_flight: 1, hold: { ttl: 60s } }
  tried: { by: [tried], rate: 1/h, shadow: until 2100-01-01 }
  all: { rate: 5/h }
routes:
  - { when: { kind: all }, limits: [all] }
  - { limits: [tenant, user, ip, slots, tried] }
)";

using Attributes = std::vector<limits::Attribute>;

struct CountingWorld {
  explicit CountingWorld(CountingOptions options = {.top = {.entries = 16, .sample = 1}},
                         std::string_view file = kCountedFile)
      : service({
                    .counting = options,
                    .clock = [this] { return now; },
                    .wall_clock = [this] { return now; },
                },
                embedded.table()) {
    service.limits = std::make_unique<LimitsInForce>(LimitsInForce::Options{
        .path = "limits.yaml",
        .setting = {},
        .wall_clock = [this] { return now; },
        .open = [file](const std::string&, std::size_t) { return std::string(file); }});
    EXPECT_EQ(service.limits->reload(), std::vector<std::string>());
    counting.emplace(service, true);
    asker.emplace(service, embedded);
    asker->count_in(&*counting);
    asking.emplace(*asker, 1, "192.0.2.1", [](Question&) {}, [] {});
  }
  // As a front end does: whether it passes, or has found what it is about.
  bool ask(const Ask& ask) {
    asking->begin({now, now});
    if (asking->add(ask, 0, false) == nullptr) {
      ADD_FAILURE() << asker->refusal().sentence;
      return false;
    }
    bool passes = false;
    asking->settle([&](Question& question) {
      const bool decides = question.verb <= store::Verb::look || question.verb == store::Verb::take ||
                           question.verb == store::Verb::reserve;
      if (!decides) {
        if (question.reservation != nullptr) terms = *question.reservation;
        if (question.charge != nullptr) charged = question.charge->told;
        return;
      }
      const limits::Set* const set = question.by_file ? asking->set_of(question) : nullptr;
      passes = told_of(question, set).allowed;
      if (!question.looks()) asker->count(question, set, passes);
      if (question.reservation != nullptr) terms = *question.reservation;
    });
    return passes;
  }
  bool by_file(const Attributes& attributes, std::uint64_t cost = 1, store::Verb verb = store::Verb::check) {
    const limits::Description as{attributes, cost};
    return ask({.verb = verb, .as = &as});
  }
  bool by_rule(std::string_view key, std::string_view rule, std::uint64_t cost = 1) {
    asker->begin_rules(1);
    EXPECT_TRUE(asker->add_rule(key, rule, Cost{cost}));
    return ask({});
  }
  std::string top(TopKeys::By by = TopKeys::By::denied, std::string_view limit = "") {
    const auto answer = service.top({by, limit, 100});
    if (!answer) return answer.error();
    std::string text;
    for (const TopKeys::Row& row : answer->rows)
      text += (text.empty() ? "" : ", ") + row.limit + " " + row.key + " " + std::to_string(row.count) +
              (row.error != 0 ? "-" + std::to_string(row.error) : "") + (row.banned ? " banned" : "");
    return text;
  }

  // Everybody, at that limit, for an hour.
  void ban_all(std::string_view limit) const {
    const std::shared_ptr<const limits::Set> set = service.limits->current();
    auto ban = std::make_shared<limits::SteeredOverride>();
    ban->limit = static_cast<limits::Index>(set->find(limit) - set->limits().data());
    ban->until = limits::Time(now + 1h);
    const limits::Steered::Ptr all[] = {std::move(ban)};
    service.limits->ruling.publish(std::make_shared<const limits::Steered>(set, all));
  }

  std::chrono::nanoseconds now = 1000h;
  store::EmbeddedStore embedded{std::size_t{1} << 20, WhenFull::deny, {1, 2}};
  Service service;
  std::optional<LoopCounting> counting;
  std::optional<Asker> asker;
  std::optional<Asking> asking;
  store::ReservationTerms terms;  // of the last that had such
  Charged charged;
};

TEST(LoopCounting, says_keys_as_explain_does_and_each_limit_that_denies) {
  CountingWorld world;
  const Attributes user{{"tenant", "acme"}, {"user", "4 2"}};
  EXPECT_TRUE(world.by_file(user));
  EXPECT_TRUE(world.by_file(user));
  EXPECT_FALSE(world.by_file(user));  // by user
  world.now += 1min;
  EXPECT_TRUE(world.by_file(user));
  EXPECT_FALSE(world.by_file(user));  // by tenant
  EXPECT_FALSE(world.by_file(user));
  EXPECT_EQ(world.top(), "tenant tenant=acme 2, user tenant=acme user=4 2 1");
  EXPECT_EQ(world.top(TopKeys::By::denied, "user"), "user tenant=acme user=4 2 1");
  EXPECT_EQ(world.top(TopKeys::By::cost), "tenant tenant=acme 3, user tenant=acme user=4 2 3");
}

TEST(LoopCounting, of_each_eight_units_that_several_limits_charge_one_is_in_the_sample) {
  CountingWorld world({.top = {.entries = 16, .sample = 8}}, R"(version: 1
limits:
  tenant: { by: [tenant], rate: 1000/h }
  user: { by: [tenant, user], rate: 1000/h }
routes:
  - { limits: [tenant, user] }
)");
  for (int i = 0; i < 400; ++i) EXPECT_TRUE(world.by_file({{"tenant", "acme"}, {"user", "42"}}));
  const auto answer = world.service.top({TopKeys::By::cost, "", 10});
  ASSERT_EQ(answer->rows.size(), 2U);
  EXPECT_EQ(answer->rows[0].count + answer->rows[1].count, 800U);
  EXPECT_GT(answer->rows[1].count, 100U) << "one limit is as likely as the other";
}

TEST(LoopCounting, a_network_is_one_key_and_whom_a_list_denies_has_the_key_of_its_limit) {
  CountingWorld world;
  EXPECT_FALSE(world.by_file({{"ip", "192.0.2.1"}}));
  EXPECT_TRUE(world.by_file({{"ip", "198.51.100.7"}}));
  EXPECT_FALSE(world.by_file({{"ip", "198.51.100.8"}}));
  EXPECT_FALSE(world.by_file({{"ip", "198.51.100.9"}}));
  EXPECT_EQ(world.top(), "ip ip=198.51.100.0/24 2, ip ip=192.0.2.0/24 1");
  world.by_file({{"ip", "192.0.2.1"}}, 1, store::Verb::look);
  EXPECT_FALSE(world.by_file({{"ip", "192.0.2.1"}}));
  EXPECT_EQ(world.top(), "ip ip=192.0.2.0/24 2, ip ip=198.51.100.0/24 2");
}

TEST(LoopCounting, whom_a_ban_denies_is_counted_apart_by_the_key_of_its_limit) {
  CountingWorld world;
  const std::string long_name(300, 'x');
  const Attributes user{{"tenant", "acme"}, {"user", long_name}};
  for (int i = 0; i < 5; ++i) world.by_file(user);
  world.ban_all("user");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(world.by_file(user));
  const limits::Description as{user, 5};
  const Ask::Units units{.most = 5, .least = 1};
  EXPECT_FALSE(world.ask({.verb = store::Verb::take, .as = &as, .units = &units}));
  EXPECT_FALSE(world.by_file(user, 1, store::Verb::reserve));
  EXPECT_TRUE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve)) << "it does not meet the limit";
  world.by_file(user, 1, store::Verb::look);
  const auto answer = *world.service.top({TopKeys::By::denied, "user", 100});
  ASSERT_EQ(answer.rows.size(), 2U);
  EXPECT_TRUE(answer.rows[0].banned);
  EXPECT_EQ(answer.rows[0].count, 5U);
  EXPECT_EQ(answer.banned, 5U);
  EXPECT_FALSE(answer.rows[1].banned);
  EXPECT_EQ(answer.rows[1].key, answer.rows[0].key) << "as a limit's denial shows it";
  EXPECT_EQ(answer.total, answer.rows[1].count);
  EXPECT_EQ(world.service.top({TopKeys::By::cost, "", 100})->banned, 0U);
}

TEST(LoopCounting, what_costs_too_much_and_what_finds_no_slot_is_denied) {
  CountingWorld world;
  EXPECT_FALSE(world.by_file({{"tenant", "acme"}}, 4));
  EXPECT_TRUE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_FALSE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_FALSE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_EQ(world.top(), "slots job=a 2, tenant tenant=acme 1");
  EXPECT_EQ(world.top(TopKeys::By::cost), "slots job=a 1");
}

TEST(LoopCounting, looks_and_shadows_say_nothing) {
  CountingWorld world;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(world.by_file({{"tried", "x"}}));
    world.by_file({{"tenant", "acme"}}, 9, store::Verb::look);
  }
  EXPECT_EQ(world.top(), "");
  EXPECT_EQ(world.top(TopKeys::By::cost), "");
}

TEST(LoopCounting, a_limit_of_the_request_is_inline) {
  CountingWorld world;
  EXPECT_TRUE(world.by_rule("a", "1/h"));
  EXPECT_FALSE(world.by_rule("a", "1/h"));
  EXPECT_FALSE(world.by_rule(std::string(64 << 10, 'k'), "1/h", 2));
  EXPECT_FALSE(world.by_rule(std::string("\0<script>", 9), "1/h", 2));
  const auto answer = world.service.top({TopKeys::By::denied, "inline", 10});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->rows.size(), 3U);
  EXPECT_EQ(answer->rows[0].key, std::string("\0<script>", 9));
  EXPECT_EQ(answer->rows[1].key, "a");
  EXPECT_EQ(answer->rows[2].key.substr(0, 74), std::string(64, 'k') + "...sha256:");
  EXPECT_EQ(answer->total, 3U);
}

// The state of a value above 128 bytes is found by its digest; people are told of the value.
TEST(LoopCounting, a_long_value_is_shown_by_what_it_is) {
  CountingWorld world;
  const std::string value(129, 'v');
  EXPECT_FALSE(world.by_file({{"tenant", value}}, 4));
  std::string shown;
  steering::shorten_key("tenant=" + value, shown);
  EXPECT_EQ(world.top(), "tenant " + shown + " 1");
}

TEST(LoopCounting, a_limit_without_by_has_one_key) {
  CountingWorld world;
  EXPECT_FALSE(world.by_file({{"kind", "all"}}, 6));
  EXPECT_EQ(world.top(), "all  1");
}

TEST(LoopCounting, hashes_hide_keys_and_tell_them_apart) {
  CountingWorld world({.top = {.entries = 16, .sample = 1}, .hashes = true});
  world.by_file({{"tenant", "acme"}}, 4);
  world.by_file({{"tenant", "globex"}}, 4);
  const auto answer = world.service.top({TopKeys::By::denied, "", 10});
  ASSERT_EQ(answer->rows.size(), 2U);
  EXPECT_EQ(answer->rows[0].key.size(), 17U);
  EXPECT_EQ(answer->rows[0].key[0], '#');
  EXPECT_NE(answer->rows[0].key, answer->rows[1].key);
}

TEST(LoopCounting, says_why_it_has_no_answer) {
  CountingWorld off({.top = {.entries = 0}});
  off.by_file({{"tenant", "acme"}}, 4);
  EXPECT_EQ(off.top(), "--top is 0");
  CountingWorld world;
  EXPECT_EQ(world.top(TopKeys::By::denied, "nobody"),
            "unknown limit 'nobody'; known: tenant, user, ip, slots, tried, all");
  world.service.limits.reset();
  EXPECT_EQ(world.top(TopKeys::By::denied, "user"), "there is no limits file: start weir with --limits FILE");
  EXPECT_EQ(world.top(TopKeys::By::denied, "inline"), "");
}

constexpr std::string_view kTrackedFile = R"(version: 1
limits:
  tenant: { by: [tenant], rate: [60/min burst 60, 50000/day], refunds: true, track: true, hold: { ttl: 10min } }
  user: { by: [user], rate: 9000/day align=calendar tz=Middle/Nowhere, track: true, hold: { ttl: 10min } }
  seen: { by: [user], rate: 9/min, hold: { ttl: 10min } }
  tried: { by: [tried], rate: 2/h, track: true, shadow: until 2100-01-01 }
routes:
  - { when: { kind: tenant }, limits: [tenant] }
  - { when: { kind: user }, limits: [user] }
  - { limits: [tenant, user, seen, tried] }
)";

struct UsageWorld : CountingWorld {
  explicit UsageWorld(CountingOptions options = {}) : CountingWorld(options, with_zones()) {
    now = 20'540 * 24h + 20h;  // the day before the clocks go forward
  }
  static std::string_view with_zones() {
    core::use_time_zones(core::test_zones());
    return kTrackedFile;
  }
  Counting::UsageAnswer usage(std::string_view limit, const Attributes& attributes) {
    asker->begin();
    asker->limits();
    auto asked =
        service.counting.usage_asked(asker->shared_limits(), limit, attributes, asker->match_memory());
    if (!asked) return tl::unexpected(asked.error());
    Counting::UsageAnswer answer = tl::unexpected(std::string("no answer"));
    service.counting.usage(*std::move(asked), [&](auto told) { answer = std::move(told); });
    return answer;
  }
  std::string used(std::string_view limit, const Attributes& attributes) {
    const auto answer = usage(limit, attributes);
    if (!answer) return answer.error();
    std::string text = answer->key;
    for (const auto& [window, its] : answer->windows)
      text += ", " + window + " " + std::to_string(its.used) + " " + std::to_string(its.last);
    return text;
  }
};

TEST(Usage, says_what_was_charged_in_each_period) {
  UsageWorld world;
  const Attributes both{{"tenant", "acme"}, {"user", "42"}};
  EXPECT_TRUE(world.by_file(both, 5));
  EXPECT_TRUE(world.by_file(both, 4));
  EXPECT_FALSE(world.by_file(both, 1));  // by a limit that is not tracked: nothing is charged
  EXPECT_EQ(world.used("tenant", both), "tenant=acme, 1min 9 0, 1d 9 0");
  EXPECT_EQ(world.used("user", both), "user=42, 1d 9 0");
  world.now += 1min;
  EXPECT_TRUE(world.by_file(both, 2));
  EXPECT_EQ(world.used("tenant", both), "tenant=acme, 1min 2 9, 1d 11 0");
  world.now += 5h;
  EXPECT_EQ(world.used("tenant", both), "tenant=acme, 1min 0 0, 1d 0 11");
  EXPECT_EQ(world.used("user", both), "user=42, 1d 0 11");
  const auto told = world.usage("user", both);
  EXPECT_EQ(told->hours[18], 11U);
  EXPECT_EQ(told->windows[0].told.period.ends - told->windows[0].told.period.began, 23h);
}

TEST(Usage, says_why_it_has_none) {
  UsageWorld world;
  const Attributes user{{"user", "42"}};
  EXPECT_EQ(world.used("seen", user), "not tracked: limit 'seen' has to say track: true");
  EXPECT_EQ(world.used("nobody", user), "unknown limit 'nobody'; known: tenant, user, seen, tried");
  EXPECT_EQ(world.used("tenant", user), "limits.tenant: the request has no attribute 'tenant'");
  EXPECT_EQ(world.used("user", user), "user=42, 1d 0 0");
}

TEST(Usage, of_a_limit_in_shadow_stays_0) {
  UsageWorld world;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(world.by_file({{"tried", "x"}}));
  EXPECT_EQ(world.used("tried", {{"tried", "x"}}), "tried=x, 1h 0 0");
}

TEST(Usage, full_memory_turns_new_keys_away) {
  UsageWorld world({.track_memory = 8 << 10});
  for (int i = 0; i < 100; ++i) world.by_file({{"kind", "user"}, {"user", std::to_string(i)}});
  std::size_t tracked = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string said = world.used("user", {{"user", std::to_string(i)}});
    tracked += said == "user=" + std::to_string(i) + ", 1d 1 0" ? 1 : 0;
    if (!said.starts_with("user=")) {
      EXPECT_EQ(said, "not tracked");
    }
  }
  const Counting::UsageCounts counts = world.service.counting.usage_counts();
  EXPECT_GT(tracked, 5U);
  EXPECT_EQ(tracked, counts.keys);
  EXPECT_EQ(counts.untracked, 100 - tracked);
  EXPECT_LE(counts.bytes, 8U << 10);
}

// Everything that was booked, with its time, added up from the beginning.
class BookedSteps {
 public:
  void book(std::int64_t units, std::chrono::nanoseconds utc) { steps_.emplace_back(utc, units); }
  std::uint64_t within(std::chrono::nanoseconds began, std::chrono::nanoseconds ends) const {
    std::int64_t used = 0;
    for (const auto& [utc, units] : steps_)
      if (utc >= began && utc < ends) used = std::max<std::int64_t>(used + units, 0);
    return static_cast<std::uint64_t>(used);
  }

 private:
  std::vector<std::pair<std::chrono::nanoseconds, std::int64_t>> steps_;
};

TEST(Usage, is_what_a_naive_sum_says_of_checks_holds_settlements_cancels_and_refunds) {
  core::Chance chance;
  UsageWorld world;
  struct OpenHeld {
    std::string id;
    std::string name;
    std::int64_t cost;
  };
  std::map<std::string, BookedSteps> exact;
  std::vector<OpenHeld> held;
  const auto attributes_of = [](const std::string& name) {
    const std::string kind = name.substr(0, name.find('='));
    return Attributes{
        {"kind", kind == "tenant" ? "tenant" : "user"},
        {kind == "tenant" ? "tenant" : "user", std::string_view(name).substr(name.find('=') + 1)}};
  };
  std::size_t asked = 0;
  std::size_t changed = 0;
  for (int i = 0; i < 6000; ++i) {
    if (chance.up_to(3) == 0) world.now += std::chrono::seconds{chance.up_to(100)};
    if (chance.up_to(300) == 0) world.now += std::chrono::hours{chance.up_to(9)};
    const std::string name = (chance.up_to(1) == 0 ? "tenant=" : "user=") + std::to_string(chance.up_to(4));
    const Attributes attributes = attributes_of(name);
    const limits::Description as{attributes, static_cast<std::uint64_t>(chance.up_to(20))};
    const auto cost = static_cast<std::int64_t>(as.cost);
    switch (chance.up_to(6)) {
      case 0:
      case 1:
        if (world.ask({.as = &as})) exact[name].book(cost, world.now);
        break;
      case 2:
        if (!name.starts_with("tenant=")) break;
        if (!world.ask({.verb = store::Verb::reserve, .as = &as, .max_wait = 30s})) break;
        exact[name].book(cost, world.now);
        held.push_back({world.terms.id, name, cost});
        break;
      case 3:
      case 4: {
        if (held.empty()) break;
        const auto which = held.begin() + chance.up_to(static_cast<std::int64_t>(held.size()) - 1);
        const bool cancels = chance.up_to(1) == 0;
        const std::int64_t actual = chance.up_to(40);
        if (cancels) {
          world.ask({.verb = store::Verb::cancel, .id = which->id});
          if (world.terms.given_back == 0) break;
          exact[which->name].book(-which->cost, world.now);
        } else {
          world.ask(
              {.verb = store::Verb::settle, .id = which->id, .actual = static_cast<std::uint64_t>(actual)});
          if (world.terms.wait.count() >= 0) exact[which->name].book(actual - which->cost, world.now);
        }
        ++changed;
        held.erase(which);
        break;
      }
      case 5: {
        world.ask({.verb = store::Verb::charge, .as = &as});
        exact[name].book(cost, world.now);
        break;
      }
      default:
        if (!name.starts_with("tenant=")) break;
        world.ask({.verb = store::Verb::charge, .as = &as, .form = Outside::Form::refund});
        exact[name].book(-static_cast<std::int64_t>(world.charged.charged), world.now);
    }
    if (i % 50 != 0) continue;
    ++asked;
    const auto told = world.usage(name.substr(0, name.find('=')), attributes);
    ASSERT_TRUE(told) << told.error();
    for (const auto& [window, its] : told->windows) {
      ASSERT_EQ(its.used, exact[name].within(its.period.began, its.period.ends))
          << name << ' ' << window << ' ' << i;
    }
    for (std::size_t hour = 0; hour < 24; ++hour) {
      const std::chrono::nanoseconds began = (world.now / 1h - 23 + static_cast<std::int64_t>(hour)) * 1h;
      ASSERT_EQ(told->hours[hour], exact[name].within(began, began + 1h)) << name << ' ' << i;
    }
  }
  EXPECT_GT(asked, 100U);
  EXPECT_GT(changed, 100U);
}

TEST(Events, tell_of_a_key_once_in_its_period_and_only_where_somebody_listens) {
  CountingWorld world;
  std::vector<std::string> told;
  world.service.operators.tell = [&](const steering::OperatorEvent& event) {
    told.push_back(std::string(steering::name_of(event.what)) + " " + event.limit + " " + event.key + " " +
                   event.window +
                   (event.until ? " " + std::to_string(*event.until / 1s - world.now / 1s) : ""));
  };
  const Attributes user{{"tenant", "acme"}, {"user", "42"}};
  world.by_file(user, 2);
  EXPECT_TRUE(told.empty());
  world.service.operators.wants_events = true;
  for (int i = 0; i < 3; ++i) world.by_file(user, 2);
  EXPECT_EQ(told, (std::vector<std::string>{"denied tenant tenant=acme 1h 1200",
                                            "denied user tenant=acme user=42 1min 60"}));
  told.clear();
  world.now += 2min;
  world.by_file(user, 3);
  EXPECT_EQ(told, (std::vector<std::string>{"denied user tenant=acme user=42 1min"}))
      << "another minute, the same hour";
  told.clear();
  world.by_file({{"tenant", "globex"}}, 3);
  world.by_file({{"tenant", "globex"}}, 3);
  EXPECT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], "near tenant tenant=globex 1h");
  EXPECT_TRUE(told[1].starts_with("denied tenant tenant=globex 1h"));
}

}  // namespace
}  // namespace weir::service
