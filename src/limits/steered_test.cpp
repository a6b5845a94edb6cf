// What operators set at run time, against a reading of it that shares no code with it: over all overrides of
// a few words, in all orders of three.
#include "limits/steered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "limits/match.hpp"
#include "limits/steer.hpp"
#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kFile = R"(
version: 1
limits:
  user:
    by: [user]
    rate: [10/s burst 10, 100/min]
    allow: { ip: 10.0.0.0/8 }
    deny: { ip: 192.0.2.1 }
    overrides:
      - { when: { user: b }, rate: 20/s burst 20 }
  all: { rate: 1000/s burst 1000 }
routes:
  - { limits: [user, all] }
)";

struct Said {
  Steer what;
  std::string limit;
  Words when;
  std::vector<std::string> rates;
  Time until;
};

Steered::Ptr made(const Set& set, const Said& said, std::uint64_t number) {
  auto compiled = compile_steer(set, *set.find(said.limit), {said.what, said.when, said.rates});
  if (!compiled) {
    ADD_FAILURE() << compiled.error().text;
    return nullptr;
  }
  compiled->number = number;
  compiled->until = said.until;
  compiled->reason = "why";
  compiled->user = "ann";
  return std::make_shared<const SteeredOverride>(*std::move(compiled));
}

std::string told(const Matched& matched) {
  if (matched.outcome == Matched::Outcome::refused) {
    const std::string by = "refused by " + std::to_string(matched.refused_by);
    if (matched.ban == nullptr) return by;
    return by + " for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(matched.banned_for).count());
  }
  std::string text;
  for (std::size_t i = 0; i < matched.count; ++i)
    text += std::to_string(matched.limit_of[i]) + " " + core::to_text(matched.checks[i].limit->rule) +
            (matched.checks[i].shadow ? " shadow; " : "; ");
  return text;
}

// The same, slowly and by the words of the specification alone. Limit 0 is `user`, 1 is `all`.
class Oracle {
 public:
  Oracle(const std::vector<Said>& said, Time now) : said_(said), now_(now) {}

  std::string meets(const std::map<std::string, std::string>& request) const {
    std::string text;
    std::string refused;
    Time ban_ends = kLongAgo;
    int banned_by = -1;
    for (const int limit : {0, 1}) {
      const std::string name = limit == 0 ? "user" : "all";
      if (limit == 0 && !request.contains("user")) continue;
      std::map<int, std::string> rates = limit == 0 ? std::map<int, std::string>{{0, "10/s"}, {1, "100/min"}}
                                                    : std::map<int, std::string>{{0, "1000/s"}};
      if (limit == 0 && request.at("user") == "b") rates[0] = "20/s";
      bool shadow = false;
      bool banned = false;
      for (const Said& each : said_) {  // in the order of their numbers
        if (each.limit != name || now_ >= each.until || !concerns(each, request)) continue;
        if (each.what == Steer::ban) {
          banned = true;
          if (each.until > ban_ends) {
            ban_ends = each.until;
            banned_by = limit;
          }
        } else if (each.what == Steer::shadow_on || each.what == Steer::shadow_off) {
          shadow = each.what == Steer::shadow_on;
        } else {
          for (const std::string& rate : each.rates) rates[rate.ends_with("min") ? 1 : 0] = rate;
        }
      }
      if (banned) continue;
      if (limit == 0 && request.contains("ip")) {
        if (request.at("ip") == "192.0.2.1") {
          if (!shadow && refused.empty()) refused = "refused by 0";
          continue;
        }
        if (request.at("ip").starts_with("10.")) continue;
      }
      for (const auto& [window, rate] : rates)
        if (!rate.starts_with("unlimited"))
          text += std::to_string(limit) + " " + rate + (shadow ? " shadow; " : "; ");
    }
    if (banned_by >= 0)
      return "refused by " + std::to_string(banned_by) + " for " +
             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(ban_ends - now_).count());
    return refused.empty() ? text : refused;
  }

 private:
  static bool concerns(const Said& said, const std::map<std::string, std::string>& request) {
    return std::all_of(said.when.begin(), said.when.end(), [&](const auto& each) {
      const auto has = request.find(each.first);
      if (has == request.end()) return false;
      const std::string& value = has->second;
      if (each.second == "*") return true;
      if (each.second == "192.0.2.0/24") return value.starts_with("192.0.2.");
      if (each.second == "::ffff:192.0.2.1") return value == "192.0.2.1";
      return value == each.second;
    });
  }

  const std::vector<Said>& said_;
  Time now_;
};

std::vector<Said> vocabulary(Time now) {
  const Words a = {{"user", "a"}};
  const Words b = {{"user", "b"}};
  return {{Steer::ban, "user", a, {}, now + 60s},
          {Steer::ban, "user", {{"user", "a"}, {"ip", "192.0.2.1"}}, {}, now + 90s},
          {Steer::ban, "user", {{"ip", "::ffff:192.0.2.1"}}, {}, now + 30s},
          {Steer::ban, "user", {{"ip", "192.0.2.0/24"}}, {}, now + 20s},
          {Steer::ban, "all", {}, {}, now + 10s},
          {Steer::ban, "user", {{"user", "*"}}, {}, now},  // it has ended
          {Steer::ban, "user", {{"plan", "free"}}, {}, now + 40s},
          {Steer::raise, "user", a, {"30/s"}, now + 60s},
          {Steer::raise, "user", {{"user", "*"}}, {"40/s", "unlimited/min"}, now + 60s},
          {Steer::lower, "user", {{"user", "*"}}, {"5/s"}, now + 60s},
          {Steer::lower, "user", b, {"7/s", "70/min"}, now + 60s},
          {Steer::lower, "all", {{"plan", "free"}}, {"1/s"}, now + 60s},
          {Steer::shadow_on, "user", {}, {}, now + 60s},
          {Steer::shadow_off, "user", {}, {}, now + 60s},
          {Steer::shadow_on, "all", {}, {}, now}};
}

std::vector<std::map<std::string, std::string>> requests() {
  std::vector<std::map<std::string, std::string>> all;
  for (const char* const user : {"", "a", "b", "c"}) {
    for (const char* const ip : {"", "192.0.2.1", "192.0.2.2", "10.0.0.1"}) {
      for (const char* const plan : {"", "free"}) {
        std::map<std::string, std::string> request;
        if (*user != '\0') request["user"] = user;
        if (*ip != '\0') request["ip"] = ip;
        if (*plan != '\0') request["plan"] = plan;
        all.push_back(std::move(request));
      }
    }
  }
  return all;
}

TEST(Steered, decides_as_the_words_of_three_overrides_say_in_any_order) {
  World world(kFile);
  const std::vector<Said> words = vocabulary(world.wall);
  const auto asked = requests();
  std::vector<std::vector<Attribute>> attributes;
  for (const auto& request : asked) {
    auto& one = attributes.emplace_back();
    for (const auto& [name, value] : request) one.push_back({name, value});
  }
  const Steered nothing(world.set);
  core::Chance chance;
  for (const Said& first : words) {
    for (const Said& second : words) {
      for (const Said& third : words) {
        if (!core::Chance::is_long() && chance.up_to(3) != 0) continue;  // a check takes a quarter
        const std::vector<Said> said = {first, second, third};
        std::vector<Steered::Ptr> compiled;
        for (std::size_t i = 0; i < said.size(); ++i) compiled.push_back(made(*world.set, said[i], i + 1));
        // At once, one after the other in the other order, and with one more that is taken out again.
        const Steered whole(world.set, compiled);
        auto grown = nothing.with({}, {});
        for (auto each = compiled.rbegin(); each != compiled.rend(); ++each)
          grown = grown->with({&*each, 1}, {});
        const Steered::Ptr extra =
            made(*world.set, {Steer::ban, "user", {{"user", "c"}, {"q", "*"}}, {}, kNever}, 9);
        const Steered::Ptr other = made(*world.set, first, 8);
        const std::vector<Steered::Ptr> more = {extra, other};
        grown = grown->with(more, {})->with({}, more);
        ASSERT_EQ(grown->size(), 3U);
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const std::string expected = Oracle(said, world.wall).meets(asked[i]);
          for (const Steered* const each : {&whole, grown.get()}) {
            ASSERT_TRUE(
                match(*world.set, {attributes[i]}, world.wall, world.memory, world.matched, nullptr, each))
                << world.matched.error;
            ASSERT_EQ(told(world.matched), expected);
          }
        }
      }
    }
  }
}

TEST(Steered, finds_one_of_many_that_share_a_word) {
  World world(kFile);
  std::vector<Steered::Ptr> all;
  for (std::uint64_t i = 1; i <= 5000; ++i)
    all.push_back(
        made(*world.set,
             {Steer::ban, "user", {{"plan", "free"}, {"user", std::to_string(i)}}, {}, world.wall + 1s}, i));
  const Steered steered(world.set, all);
  int visits = 0;
  std::vector<AttributeValue> values(steered.names().size());
  values[steered.names().find("plan")].set("free");
  values[steered.names().find("user")].set("77");
  steered.find(0, values, [&](const SteeredOverride& each) {
    ++visits;
    EXPECT_EQ(each.number, 77U);
  });
  EXPECT_EQ(visits, 1);
}

// A thousand changes, each of which leaves those before it as they were.
TEST(Steered, a_change_changes_no_other) {
  World world(kFile);
  auto before = std::make_shared<const Steered>(world.set);
  const auto first = before->with({}, {});
  std::vector<Steered::Ptr> all;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    all.push_back(made(*world.set,
                       {Steer::ban, "user", {{"x" + std::to_string(i % 60), std::to_string(i)}}, {}, kNever},
                       i));
    before = before->with({&all.back(), 1}, {});
  }
  EXPECT_EQ(before->size(), 1000U);
  EXPECT_TRUE(first->empty());
  // The names of attributes that nobody says any longer go with the overrides.
  auto emptied = before->with({}, all);
  EXPECT_TRUE(emptied->empty());
  EXPECT_EQ(before->size(), 1000U);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Steered::Ptr one =
        made(*world.set, {Steer::ban, "user", {{"y" + std::to_string(i), "*"}}, {}, kNever}, 2000 + i);
    emptied = emptied->with({&one, 1}, {})->with({}, {&one, 1});
  }
  EXPECT_LT(emptied->names().size(), 1000U);
}

TEST(Steered, has_room_for_some_sets_of_attributes_of_a_limit) {
  World world(kFile);
  std::shared_ptr<const Steered> steered = std::make_shared<const Steered>(world.set);
  for (std::size_t i = 0; i < Steered::kMostShapes; ++i) {
    const Steered::Ptr one =
        made(*world.set, {Steer::ban, "user", {{"x" + std::to_string(i), "1"}}, {}, kNever}, i + 1);
    EXPECT_TRUE(steered->has_room(0, one->when));
    steered = steered->with({&one, 1}, {});
  }
  const auto has_room = [&](Index limit, const Words& words) {
    const auto said = made(*world.set, {Steer::ban, limit == 0 ? "user" : "all", words, {}, kNever}, 99);
    return steered->has_room(limit, said->when);
  };
  EXPECT_FALSE(has_room(0, {{"y", "1"}}));
  EXPECT_FALSE(has_room(0, {{"x1", "1"}, {"x2", "1"}}));
  EXPECT_TRUE(has_room(0, {{"x1", "7"}}));
  EXPECT_TRUE(has_room(0, {{"y", "1*"}}));
  EXPECT_TRUE(has_room(0, {}));
  EXPECT_TRUE(has_room(1, {{"y", "1"}}));
}

std::string wrong(const Set& set, Steer what, const Words& when, const std::vector<std::string>& rates = {}) {
  const auto compiled = compile_steer(set, *set.find("user"), {what, when, rates});
  return compiled ? "" : std::string(compiled.error().field) + ": " + compiled.error().text;
}

TEST(Steer, says_what_is_wrong_with_its_words) {
  World world(kFile);
  const Set& set = *world.set;
  EXPECT_EQ(wrong(set, Steer::ban, {{"User", "1"}}),
            "when: 'User' is not a name; it begins with a-z and has at most 64 of a-z, 0-9, _, . and -");
  EXPECT_EQ(wrong(set, Steer::ban, {{"user", "1"}, {"user", "2"}}), "when: attribute 'user' is given twice");
  EXPECT_EQ(wrong(set, Steer::ban, {{"ip", "10.0.0.1/8"}}),
            "when: ip: '10.0.0.1/8' has bits set beyond its prefix; did you mean 10.0.0.0/8?");
  EXPECT_EQ(wrong(set, Steer::ban, Words(65, {"user", "1"})), "when: 65 attributes; at most 64");
  EXPECT_EQ(wrong(set, Steer::raise, {}, {"10/day"}),
            "rate: '10/day' is for a window that the limit does not have; its periods: s, min");
  EXPECT_EQ(wrong(set, Steer::raise, {}, {"10/s", "11/s"}),
            "rate: '11/s' is a second rate for one window of the limit");
  EXPECT_EQ(wrong(set, Steer::raise, {}, {"10/s algorithm=fixed_window"}),
            "rate: '10/s algorithm=fixed_window' counts by fixed_window; the limit's window counts by gcra");
  EXPECT_EQ(wrong(set, Steer::lower, {}, {"ten"}).substr(0, 11), "rate: quota");
  World closed("version: 1\nattributes: [user, ip]\nlimits:\n  user: { by: [user], rate: 1/s }\n");
  EXPECT_EQ(wrong(*closed.set, Steer::ban, {{"usr", "1"}}),
            "when: unknown attribute 'usr'; did you mean user?");
  World lists("version: 1\nlimits:\n  user: { by: [user], deny: { user: x } }\n");
  EXPECT_EQ(wrong(*lists.set, Steer::raise, {}, {"1/s"}), "rate: the limit has no rate");
}

class Refusal : public testing::Test {
 protected:
  std::string refused(Steer what, const Words& when, const std::vector<std::string>& rates) {
    const Steered::Ptr one = made(*world_.set, {what, limit_, when, rates, kNever}, ++number_);
    const auto why = refuses_to_steer(*steered_, *one, world_.wall);
    if (!why) steered_ = steered_->with({&one, 1}, {});
    return why.value_or("");
  }

  void use(std::string_view file, std::string limit) {
    world_.set = compile(file);
    steered_ = std::make_shared<const Steered>(world_.set);
    limit_ = std::move(limit);
  }

  World world_{kFile};
  std::shared_ptr<const Steered> steered_ = std::make_shared<const Steered>(world_.set);
  std::string limit_ = "user";
  std::uint64_t number_ = 0;
};

TEST_F(Refusal, of_what_would_do_the_opposite) {
  const Words a = {{"user", "a"}};
  const Words b = {{"user", "b"}};
  EXPECT_EQ(refused(Steer::raise, a, {"9/s"}),
            "user, 1s: 9/s burst 9 is lower than 10/s burst 10: use WEIR.LOWER");
  EXPECT_EQ(refused(Steer::raise, a, {"20/s burst 9"}),
            "user, 1s: 20/s burst 9 is lower than 10/s burst 10: use WEIR.LOWER");
  EXPECT_EQ(refused(Steer::lower, a, {"10/s burst 11"}),
            "user, 1s: 10/s burst 11 is higher than 10/s burst 10: use WEIR.RAISE");
  EXPECT_EQ(refused(Steer::lower, a, {"unlimited/min"}),
            "user, 1min: unlimited is higher than 100/min burst 100: use WEIR.RAISE");
  // Of the file's override, and of what was set before.
  EXPECT_EQ(refused(Steer::raise, b, {"15/s"}),
            "user, 1s: 15/s burst 15 is lower than 20/s burst 20: use WEIR.LOWER");
  EXPECT_EQ(refused(Steer::raise, {{"user", "a*"}}, {"40/s", "unlimited/min"}), "");
  EXPECT_EQ(refused(Steer::raise, a, {"30/s"}),
            "user, 1s: 30/s burst 30 is lower than 40/s burst 40: use WEIR.LOWER");
  EXPECT_EQ(refused(Steer::raise, {{"user", "ab"}}, {"1000/min"}),
            "user, 1min: 1000/min burst 1000 is lower than unlimited: use WEIR.LOWER");
  EXPECT_EQ(refused(Steer::lower, a, {"30/s"}), "");
  EXPECT_EQ(refused(Steer::lower, a, {"30/s"}), "");
  EXPECT_EQ(refused(Steer::raise, {}, {"10/s burst 10"}), "");
}

TEST_F(Refusal, of_guarantees_that_no_longer_add_up) {
  use(R"(
version: 1
limits:
  edge: { rate: 1000/s burst 1000, reserve: 50% }
  tenant:
    by: [tenant]
    within: edge
    rate: 300/s burst 300
    overrides:
      - { when: { tenant: [a, b] }, guarantee: 200/s burst 200 }
)",
      "edge");
  EXPECT_EQ(refused(Steer::lower, {}, {"399/s burst 1000"}),
            "edge: the guarantees within it add up to 400/s, more than '399/s burst 1000'");
  EXPECT_EQ(refused(Steer::lower, {}, {"500/s burst 500"}),
            "edge: 50% of the burst of '500/s' is 250; the bursts of the guarantees within it add up to 400");
  EXPECT_EQ(refused(Steer::lower, {}, {"400/s burst 800"}), "");
}

}  // namespace
}  // namespace weir::limits
