// A table without room for another key: what decides follows when_full, and what reports is told that it is
// lost.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::full_table_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds kNow = 1'000'000s;

Limit limit(const char* rule, std::uint64_t id = 0, std::optional<WhenFull> when_full = std::nullopt) {
  return {.rule = core::Rule::parse(rule).value(), .id = id, .when_full = when_full};
}

// One limit and key, and what is asked of them.
struct Asked : Request {
  Check one;
  ChargeTerms terms{};
  TakeTerms taking{};

  Asked(const Limit& limit, std::string_view key, Verb what, Cost cost = {}) {
    one = {.limit = &limit, .key = key, .cost = cost};
    checks = {&one, 1};
    verb = what;
    charge = &terms;
    take = &taking;
    taking.unit[0] = 1;
  }
};

class FullTable : public testing::Test {
 protected:
  void SetUp() override {
    const Limit of_five = limit("5/d algorithm=fixed_window", 1);
    Asked known(of_five, "known", Verb::check);
    submit(known);
    const Limit filling = limit("1/d", 99);
    int refused = 0;
    for (int i = 0; refused < 1000; ++i) {
      Asked asked(filling, own_key("full", i), Verb::check);
      submit(asked);
      refused = asked.allowed() ? 0 : refused + 1;
    }
  }
  std::string_view own_key(const char* name, int i) { return key_ = name + std::to_string(i); }
  void submit(Request& request) {
    Request* const batch[] = {&request};
    store_.submit(batch, {kNow, kNow});
    ASSERT_EQ(request.state, Request::State::answered);
    ASSERT_EQ(request.fault, Fault::none) << request.why;
  }
  std::uint64_t refused() const { return store_.table().refused(); }

  EmbeddedStore store_{1_MiB, WhenFull::deny, core::HashKey{1, 2}};
  std::string key_;
};

struct Way {
  const char* name;
  Verb verb;
  bool others_free;
};
constexpr Way kWays[] = {{"check", Verb::check, false},
                         {"look", Verb::look, false},
                         {"take", Verb::take, false},
                         {"charge that decides", Verb::charge, false},
                         {"charge that leaves others free", Verb::charge, true}};
constexpr const char* kRules[] = {"5/d", "5/d algorithm=fixed_window",
                                  "5/d algorithm=fixed_window align=clock", "5/day align=calendar"};

TEST_F(FullTable, decides_for_every_verb_and_algorithm_as_the_limit_says) {
  for (const WhenFull when_full : {WhenFull::deny, WhenFull::allow}) {
    for (const char* const rule : kRules) {
      const Limit of_five = limit(rule, 1, when_full);
      for (const Way& way : kWays) {
        const std::string key = std::string(rule) + way.name;
        const std::uint64_t before = refused();
        Asked asked(of_five, key, way.verb);
        asked.terms.decides = true;
        if (way.others_free) asked.terms.others_free.emplace();
        submit(asked);
        EXPECT_EQ(asked.allowed(), when_full == WhenFull::allow) << key;
        EXPECT_EQ(refused(), before + 1) << key;
        if (when_full == WhenFull::allow) continue;
        EXPECT_EQ(asked.decision().verdict, Verdict::denied) << key;
        EXPECT_GT(asked.decision().retry_after.value_or(0s), 0s) << key;
      }
    }
  }
}

TEST_F(FullTable, says_never_to_what_can_never_pass) {
  for (const char* const rule : kRules) {
    const Limit of_five = limit(rule, 1);
    for (const Way& way : kWays) {
      if (way.verb == Verb::take) continue;
      const std::string key = std::string(rule) + way.name;
      Asked asked(of_five, key, way.verb, Cost{6});
      asked.terms.decides = true;
      if (way.others_free) asked.terms.others_free.emplace();
      submit(asked);
      EXPECT_EQ(asked.decision().verdict, Verdict::never) << rule << way.name;
      EXPECT_FALSE(asked.decision().retry_after) << rule << way.name;
    }
  }
}

TEST_F(FullTable, tells_a_report_that_it_is_lost) {
  for (const char* const rule : kRules) {
    const Limit of_five = limit(rule, 1);
    const std::uint64_t before = refused();
    Asked asked(of_five, "reported", Verb::charge, Cost{3});
    submit(asked);
    EXPECT_EQ(asked.terms.told.charged, 0U) << rule;
    EXPECT_EQ(asked.terms.told.dropped, 3U) << rule;
    EXPECT_EQ(refused(), before + 1) << rule;
  }
}

// Where one is over for lack of room, the others are not charged.
TEST_F(FullTable, is_over_for_those_that_leave_others_free) {
  const Limit of_five = limit("5/d algorithm=fixed_window", 1);
  std::string fresh;
  for (int i = 0;; ++i) {
    fresh = "fresh" + std::to_string(i);
    Asked looks(of_five, fresh, Verb::look);
    submit(looks);
    if (!looks.allowed()) break;
  }
  std::vector<Check> both = {{.limit = &of_five, .key = "known"}, {.limit = &of_five, .key = fresh}};
  ChargeTerms terms{.others_free = OthersFree{}};
  Request request{.checks = both, .verb = Verb::charge, .charge = &terms};
  submit(request);
  EXPECT_TRUE(both[0].decision.allowed());
  EXPECT_FALSE(both[1].decision.allowed());
  Asked left(of_five, "known", Verb::look);
  submit(left);
  EXPECT_EQ(left.decision().remaining, 4);
}

TEST(Charge, that_decides_says_never_to_what_can_never_pass) {
  EmbeddedStore store(1_MiB, WhenFull::deny, core::HashKey{1, 2});
  for (const char* const rule : kRules) {
    for (const bool others_free : {false, true}) {
      const Limit of_five = limit(rule, others_free ? 1 : 2);
      Asked asked(of_five, "k", Verb::charge, Cost{6});
      asked.terms.decides = true;
      if (others_free) asked.terms.others_free.emplace();
      Request* const batch[] = {&asked};
      store.submit(batch, {kNow, kNow});
      EXPECT_EQ(asked.decision().verdict, Verdict::never) << rule << others_free;
      EXPECT_FALSE(asked.decision().retry_after) << rule << others_free;
      EXPECT_GT(asked.decision().reset_after, 0s) << rule << others_free;
    }
  }
}

}  // namespace
}  // namespace weir::store::full_table_test
