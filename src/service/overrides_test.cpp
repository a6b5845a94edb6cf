#include "service/overrides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using limits::Steer;
using Why = NotSteered::Why;

constexpr const char* kSteeredFile = R"(
version: 1
limits:
  user: { by: [user], rate: 10/s burst 10 }
  tenant: { by: [tenant], rate: 10/s burst 10, id: old }
)";

// Where they lie: it fails when it is told to.
struct TestKeeper final : steering::Keeper {
  bool durable() const override { return true; }
  tl::expected<std::uint64_t, std::string> take_number(const steering::OverrideBook& book) override {
    return book.next_number();
  }
  std::optional<std::string> keep(const steering::OverrideBook&, const steering::OperatorOverride*,
                                  const std::vector<steering::OverrideBook::Ptr>&) override {
    return fails ? std::optional<std::string>("the disk is full") : std::nullopt;
  }
  tl::expected<Changes, std::string> changes() override {
    if (!why_not.empty()) return tl::unexpected(why_not);
    return std::exchange(found, Changes{});
  }
  bool fails = false;
  std::string why_not;
  Changes found;
};

struct OverridesWorld {
  OverridesWorld() {
    EXPECT_TRUE(limits.reload().empty());
    make({});
  }
  void make(steering::OverrideBook book) {
    overrides.reset();
    auto owned = std::make_unique<TestKeeper>();
    keeper = owned.get();
    overrides = std::make_unique<Overrides>(
        limits, std::move(owned), std::move(book),
        Overrides::Links{
            .record =
                [this](const steering::OperatorChange& change, const std::function<void(bool)>& done) {
                  recorded.push_back(change.verb + " " + std::to_string(change.number) + " " + change.limit +
                                     " [" + change.before + "] [" + change.after + "] " + change.reason);
                  done(audits);
                },
            .tell =
                [this](const steering::OperatorEvent& event) {
                  told.push_back(std::string(name_of(event.what)) + " " + event.limit + " " + event.key);
                },
            .log = [this](bool, const std::string& line) { logged.push_back(line); }});
  }
  std::string set(WantedOverride wanted) {
    const auto done = overrides->set(wanted, {.user = "ann"});
    return done ? std::to_string(done->it->number)
                : std::string(done.error().field) + ": " + done.error().sentence;
  }
  static WantedOverride ban(const std::string& user) {
    WantedOverride wanted;
    wanted.limit = "user";
    wanted.when = {{"user", user}};
    wanted.lasts = 60s;
    wanted.reason = "why";
    return wanted;
  }
  // By what is in force.
  bool banned(const std::string& user) {
    const std::vector<limits::Attribute> attributes = {{"user", user}};
    const auto ruling = limits.ruling.current();
    EXPECT_TRUE(
        limits::match(ruling->set(), {attributes}, limits.now(), memory, matched, nullptr, ruling.get()));
    return matched.ban != nullptr;
  }
  std::string listed(std::string_view limit = "") const {
    std::string found;
    for (const ToldOverride& each : overrides->list(limit, 0, 100))
      found += std::to_string(each.it->number) + " " + each.limit + "; ";
    return found;
  }

  std::chrono::nanoseconds wall = std::chrono::sys_days{std::chrono::year{2026} / 11 / 26}.time_since_epoch();
  std::string text = kSteeredFile;
  LimitsInForce limits{{.path = "/dev/null/none",
                        .wall_clock = [this] { return wall; },
                        .open = [this](const std::string&, std::size_t) { return text; }}};
  TestKeeper* keeper = nullptr;
  bool audits = true;
  std::vector<std::string> recorded;
  std::vector<std::string> told;
  std::vector<std::string> logged;
  std::unique_ptr<Overrides> overrides;
  limits::MatchMemory memory;
  limits::Matched matched;
};

TEST(Overrides, that_are_all_gone_are_told_of_and_others_may_end_some) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  EXPECT_EQ(world.set(OverridesWorld::ban("b")), "2");
  const auto second = world.overrides->find(2);
  ASSERT_TRUE(second);
  world.keeper->found = {.whole = true, .set = {*second->it}};
  world.overrides->look();
  EXPECT_EQ(world.listed(), "2 user; ");
  EXPECT_EQ(world.logged, std::vector<std::string>{}) << "another server may have ended it";
  world.keeper->found = {.whole = true};
  world.overrides->look();
  EXPECT_EQ(world.listed(), "");
  ASSERT_EQ(world.logged.size(), 1U);
  EXPECT_TRUE(world.logged[0].starts_with("overrides: the store has none of the 1 any more"))
      << world.logged[0];
  EXPECT_EQ(std::count(world.told.begin(), world.told.end(), "overrides_lost  "), 1);
  // A store of an older time, which has one of two.
  EXPECT_EQ(world.set(OverridesWorld::ban("d")), "3");
  const auto third = world.overrides->find(3);
  EXPECT_EQ(world.set(OverridesWorld::ban("e")), "4");
  world.keeper->found = {.whole = true, .older = true, .set = {*third->it}};
  world.overrides->look();
  EXPECT_EQ(world.listed(), "3 user; ");
  ASSERT_EQ(world.logged.size(), 2U);
  EXPECT_TRUE(
      world.logged[1].starts_with("overrides: the store came back with an older copy of itself, "
                                  "without 1 that were in force here"))
      << world.logged[1];
  world.logged.pop_back();
  world.keeper->found = {.whole = true};
  world.overrides->look();
  world.logged.pop_back();
  // One whose end has come is not a loss.
  EXPECT_EQ(world.set(OverridesWorld::ban("c")), "5");
  world.wall += 61s;
  world.keeper->found = {.whole = true};
  world.overrides->look();
  EXPECT_EQ(world.logged.size(), 1U);
}

TEST(Overrides, that_cannot_be_read_stay_and_each_reason_is_told_once) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  for (const char* why : {steering::kNoAnswer, "something else lies there", "something else lies there",
                          "the store's user may not do this", steering::kNoAnswer}) {
    world.keeper->why_not = why;
    world.overrides->look();
    EXPECT_TRUE(world.banned("a"));
  }
  world.keeper->why_not.clear();
  world.overrides->look();
  world.overrides->look();
  constexpr const char* kCannot = "overrides: cannot be read, so what was in force here stays: ";
  EXPECT_EQ(world.logged, (std::vector<std::string>{std::string(kCannot) + "something else lies there",
                                                    std::string(kCannot) + "the store's user may not do this",
                                                    "overrides: read again"}));
}

TEST(Overrides, are_recorded_kept_in_force_and_told) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  EXPECT_TRUE(world.banned("a"));
  EXPECT_FALSE(world.banned("b"));
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "2");
  EXPECT_EQ(world.listed(), "2 user; ");
  EXPECT_EQ(world.overrides->lift(1, "", {}), false);
  EXPECT_EQ(world.overrides->unban("user", {{"user", "b"}}, "", {}), 0U);
  EXPECT_EQ(world.overrides->unban("user", {{"user", "a"}}, "", {}), 1U);
  EXPECT_FALSE(world.banned("a"));
  const std::string until = "ban until 2026-11-26T00:01:00.000Z";
  EXPECT_EQ(world.recorded, (std::vector<std::string>{"BAN 1 user [] [" + until + "] why",
                                                      "BAN 2 user [" + until + "] [" + until + "] why",
                                                      "UNBAN 2 user [" + until + "] [] "}));
  EXPECT_EQ(world.told,
            (std::vector<std::string>{"banned user user=a", "banned user user=a", "ban_ended user user=a"}));
}

TEST(Overrides, are_half_set_never) {
  OverridesWorld world;
  world.audits = false;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")),
            ": not written: the audit file cannot be written; nothing has changed");
  world.audits = true;
  world.keeper->fails = true;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), ": not stored: the disk is full; nothing has changed");
  EXPECT_FALSE(world.banned("a"));
  EXPECT_EQ(world.listed(), "");
  EXPECT_TRUE(world.told.empty());
  EXPECT_EQ(world.recorded.size(), 3U);
  EXPECT_EQ(world.recorded.back(), "BAN 1 user [] [ban until 2026-11-26T00:01:00.000Z] not stored");
  world.keeper->fails = false;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  world.keeper->fails = true;
  EXPECT_EQ(world.overrides->lift(1, "", {}).error().why, Why::not_kept);
  EXPECT_TRUE(world.banned("a"));
}

TEST(Overrides, end_by_the_wall_clock_however_it_steps) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  world.wall += 60s - 1ns;
  EXPECT_TRUE(world.banned("a"));
  world.wall -= 24h;
  world.overrides->look();
  EXPECT_TRUE(world.banned("a"));
  world.wall += 24h + 1ns;
  EXPECT_FALSE(world.banned("a"));
  EXPECT_EQ(world.listed(), "");
  EXPECT_FALSE(world.overrides->find(1));
  world.wall -= 1ns;  // back over its end, before anybody has looked
  EXPECT_TRUE(world.banned("a"));
  world.wall += 1ns;
  world.overrides->look();
  EXPECT_EQ(world.told.back(), "ban_ended user user=a");
  world.wall -= 24h;
  EXPECT_FALSE(world.banned("a"));
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "2");
}

TEST(Overrides, sleep_while_their_limit_is_not_in_the_file) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  WantedOverride raise = OverridesWorld::ban("x");
  raise.what = Steer::raise;
  raise.limit = "tenant";
  raise.when = {{"tenant", "x"}};
  raise.rates = {"20/s"};
  EXPECT_EQ(world.set(raise), "2");
  world.text = "version: 1\nlimits:\n  renamed: { by: [tenant], rate: 5/min, id: old }\n";
  EXPECT_TRUE(world.limits.reload().empty());
  EXPECT_FALSE(world.banned("a"));
  EXPECT_EQ(world.listed(), "1 user; 2 tenant; ");  // of the second its window has gone
  EXPECT_EQ(world.logged.back(),
            "2 overrides sleep: the limits file has not the limits, windows or attributes that they are for");
  world.text = "version: 1\nlimits:\n  renamed: { by: [tenant], rate: 5/s, id: old }\n";
  EXPECT_TRUE(world.limits.reload().empty());
  EXPECT_EQ(world.listed(), "1 user; 2 renamed; ");
  EXPECT_EQ(world.listed("renamed"), "2 renamed; ");
  EXPECT_EQ(world.overrides->unban("user", {{"user", "a"}}, "", {}).error().sentence,
            "unknown limit 'user'; known: renamed");
  world.text = kSteeredFile;
  EXPECT_TRUE(world.limits.reload().empty());
  EXPECT_TRUE(world.banned("a"));
  world.text = "version: 2";
  EXPECT_FALSE(world.limits.reload().empty());
  EXPECT_TRUE(world.banned("a"));
  EXPECT_EQ(world.overrides->lift(2, "", {}), true);
}

TEST(Overrides, say_what_is_wrong) {
  OverridesWorld world;
  const auto wrong = [&](const auto& change) {
    WantedOverride wanted = OverridesWorld::ban("a");
    change(wanted);
    return world.set(wanted);
  };
  EXPECT_EQ(wrong([](auto& it) { it.limit = "usr"; }), "limit: unknown limit 'usr'; did you mean user?");
  EXPECT_EQ(wrong([](auto& it) { it.reason = ""; }),
            "reason: missing: say why, for those who come after you");
  EXPECT_EQ(wrong([](auto& it) { it.reason = "a\nb"; }), "reason: has a control character");
  EXPECT_EQ(wrong([](auto& it) { it.reason = "\xc2\x85"; }), "reason: has a control character");
  EXPECT_EQ(wrong([](auto& it) { it.reason = "\xff"; }), "reason: is not UTF-8");
  EXPECT_EQ(wrong([](auto& it) { it.reason = std::string(257, 'x'); }),
            "reason: has 257 characters; at most 256");
  EXPECT_EQ(wrong([](auto& it) { it.lasts = 999ms; }), "for: is not from 1s to 366d");
  EXPECT_EQ(wrong([](auto& it) { it.lasts = 366 * 24h + 1ns; }), "for: is not from 1s to 366d");
  EXPECT_EQ(wrong([&](auto& it) {
              it.lasts.reset();
              it.until = limits::Time(world.wall);
            }),
            "until: 2026-11-26T00:00:00.000Z is in the past: it is now 2026-11-26T00:00:00.000Z");
  EXPECT_EQ(wrong([](auto& it) { it.when = {{"user", std::string(1020, 'x')}}; }),
            ": the words of an override take at most 1024 bytes; these take 1029");
  EXPECT_EQ(wrong([](auto& it) { it.what = Steer::shadow_on; }), "when: a shadow is of the whole limit");
  EXPECT_EQ(wrong([](auto& it) { it.what = Steer::raise; }), "rate: missing: a rate such as 100/s burst 200");
  EXPECT_EQ(wrong([](auto& it) { it.rates = {"1/s"}; }), "rate: is for raise and lower");
  EXPECT_EQ(wrong([](auto& it) { it.file_hash = "x"; }),
            ": the limits file has changed: its hash is " + world.limits.hash());
  EXPECT_EQ(wrong([&](auto& it) { it.file_hash = world.limits.hash(); }), "1");
  EXPECT_EQ(world.overrides->lift(1, "a\tb", {}).error().sentence, "has a control character");
  EXPECT_EQ(world.recorded.size(), 1U);
}

TEST(Overrides, begin_with_those_that_have_not_ended) {
  OverridesWorld world;
  EXPECT_EQ(world.set(OverridesWorld::ban("a")), "1");
  WantedOverride longer = OverridesWorld::ban("b");
  longer.lasts = 120s;
  EXPECT_EQ(world.set(longer), "2");
  steering::OverrideBook book;
  for (const ToldOverride& each : world.overrides->list("", 0, 10)) book.set(*each.it);
  world.wall += 60s;
  world.make(book);
  EXPECT_EQ(world.listed(), "2 user; ");
  EXPECT_FALSE(world.banned("a"));
  EXPECT_TRUE(world.banned("b"));
  EXPECT_EQ(world.set(OverridesWorld::ban("c")), "3");
}

TEST(Overrides, lie_in_memory_alone_and_say_so_once) {
  OverridesWorld world;
  world.overrides.reset();
  Overrides overrides(
      world.limits, std::make_unique<steering::MemoryKeeper>(), {},
      {.record = [](const steering::OperatorChange&, const std::function<void(bool)>& done) { done(true); },
       .tell = [](const steering::OperatorEvent&) {},
       .log = [&](bool, const std::string& line) { world.logged.push_back(line); }});
  EXPECT_FALSE(overrides.set(OverridesWorld::ban("a"), {})->durable);
  EXPECT_TRUE(overrides.set(OverridesWorld::ban("b"), {}));
  EXPECT_EQ(world.logged,
            std::vector<std::string>{"overrides lie in memory alone, and end with the program: start "
                                     "weir with --snapshot or --store"});
}

}  // namespace
}  // namespace weir::service
