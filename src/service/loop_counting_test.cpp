#include "service/loop_counting.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/asker.hpp"
#include "service/told.hpp"
#include "steering/shown_key.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using steering::Top;

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
  explicit CountingWorld(CountingOptions options = {.top = {.entries = 16, .sample = 1}})
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
        .open = [](const std::string&, std::size_t) { return std::string(kCountedFile); }});
    EXPECT_EQ(service.limits->reload(), std::vector<std::string>());
    counting.emplace(service.counting, true);
    asker.emplace(service, embedded);
    asker->count_in(&*counting);
  }
  // As a front end does: whether it passes.
  bool ask(const Ask& ask) {
    asker->begin();
    asker->set_now(now);
    Question* const question = asker->add(ask);
    if (question == nullptr) {
      ADD_FAILURE() << asker->refusal().sentence;
      return false;
    }
    if (question->state != store::Request::State::answered) {
      store::Request* const one = question;
      embedded.submit({&one, 1}, {now, now});
    }
    const limits::Set* const set = question->by_file ? asker->limits() : nullptr;
    const bool allowed = told_of(*question, set).allowed;
    if (!question->looks()) asker->count(*question, set, allowed);
    asker->clear();
    return allowed;
  }
  bool by_file(const Attributes& attributes, std::uint64_t cost = 1, store::Verb verb = store::Verb::check) {
    const limits::Description as{attributes, cost};
    return ask({.verb = verb, .as = &as});
  }
  bool by_rule(std::string_view key, std::string_view rule, std::uint64_t cost = 1) {
    asker->begin();
    asker->begin_rules(1);
    EXPECT_TRUE(asker->add_rule(key, rule, Cost{cost}));
    return ask({});
  }
  std::string top(Top::By by = Top::By::denied, std::string_view limit = "") {
    const auto answer = service.top({by, limit, 100});
    if (!answer) return answer.error();
    std::string text;
    for (const Top::Row& row : answer->rows)
      text += (text.empty() ? "" : ", ") + row.limit + " " + row.key + " " + std::to_string(row.count) +
              (row.error != 0 ? "-" + std::to_string(row.error) : "");
    return text;
  }

  std::chrono::nanoseconds now = 1000h;
  store::EmbeddedStore embedded{std::size_t{1} << 20, WhenFull::deny, {1, 2}};
  Service service;
  std::optional<LoopCounting> counting;
  std::optional<Asker> asker;
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
  EXPECT_EQ(world.top(Top::By::denied, "user"), "user tenant=acme user=4 2 1");
  EXPECT_EQ(world.top(Top::By::cost), "tenant tenant=acme 3, user tenant=acme user=4 2 3");
}

TEST(LoopCounting, a_network_is_one_key_and_a_list_denies_nobody_here) {
  CountingWorld world;
  EXPECT_FALSE(world.by_file({{"ip", "192.0.2.1"}}));
  EXPECT_TRUE(world.by_file({{"ip", "198.51.100.7"}}));
  EXPECT_FALSE(world.by_file({{"ip", "198.51.100.8"}}));
  EXPECT_FALSE(world.by_file({{"ip", "198.51.100.9"}}));
  EXPECT_EQ(world.top(), "ip ip=198.51.100.0/24 2");
}

TEST(LoopCounting, what_costs_too_much_and_what_finds_no_slot_is_denied) {
  CountingWorld world;
  EXPECT_FALSE(world.by_file({{"tenant", "acme"}}, 4));
  EXPECT_TRUE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_FALSE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_FALSE(world.by_file({{"job", "a"}}, 1, store::Verb::reserve));
  EXPECT_EQ(world.top(), "slots job=a 2, tenant tenant=acme 1");
  EXPECT_EQ(world.top(Top::By::cost), "slots job=a 1");
}

TEST(LoopCounting, looks_and_shadows_say_nothing) {
  CountingWorld world;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(world.by_file({{"tried", "x"}}));
    world.by_file({{"tenant", "acme"}}, 9, store::Verb::look);
  }
  EXPECT_EQ(world.top(), "");
  EXPECT_EQ(world.top(Top::By::cost), "");
}

TEST(LoopCounting, a_limit_of_the_request_is_inline) {
  CountingWorld world;
  EXPECT_TRUE(world.by_rule("a", "1/h"));
  EXPECT_FALSE(world.by_rule("a", "1/h"));
  EXPECT_FALSE(world.by_rule(std::string(64 << 10, 'k'), "1/h", 2));
  EXPECT_FALSE(world.by_rule(std::string("\0<script>", 9), "1/h", 2));
  const auto answer = world.service.top({Top::By::denied, "inline", 10});
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
  const auto answer = world.service.top({Top::By::denied, "", 10});
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
  EXPECT_EQ(world.top(Top::By::denied, "nobody"),
            "unknown limit 'nobody'; known: tenant, user, ip, slots, tried, all");
  world.service.limits.reset();
  EXPECT_EQ(world.top(Top::By::denied, "user"), "there is no limits file: start weir with --limits FILE");
  EXPECT_EQ(world.top(Top::By::denied, "inline"), "");
}

}  // namespace
}  // namespace weir::service
