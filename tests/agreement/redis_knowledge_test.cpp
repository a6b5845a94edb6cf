// What a process knows of a real Redis from former answers, and what it must not know: denials that
// reservations outdate, what was booked ahead when Redis goes away, answers that are far away, and clocks
// that step. The time is handed in.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/redis_world.hpp"

namespace weir::inline v0_1::redis_knowledge_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;
using store::conformance::RealRedis;
using store::conformance::RedisWorld;

// Its clock can be set.
class SteppingRedis final : public RealRedis {
 public:
  std::string answer(std::vector<std::string> command, nanoseconds wall) override {
    return RealRedis::answer(std::move(command), wall + ahead);
  }
  nanoseconds ahead{0};
};

class RedisKnowledge : public testing::Test {
 protected:
  struct Answer {
    bool granted;
    std::string id;
    nanoseconds wait;
    Decision decision;
    Source source;
    Fault fault;
    std::uint64_t given_back;
    std::string why{};
  };

  void SetUp() override {
    if (!RealRedis::available()) GTEST_SKIP() << "there is no redis-server";
    auto redis = std::make_unique<SteppingRedis>();
    redis_ = redis.get();
    world_ = std::make_unique<RedisWorld>(std::move(redis), false, store::Sharing{});
  }

  Answer ask(Verb verb, std::vector<Check> checks, store::ReservationTerms reservation = {},
             nanoseconds patience = 50ms) {
    Request request{.checks = checks, .verb = verb, .reservation = &reservation, .patience = patience};
    request.on_answer = [](Request&) {};
    Request* const batch[] = {&request};
    world_->store().submit(batch, {world_->now(), world_->now()});
    world_->settle();
    for (int ms = 0; ms < 200 && request.state != Request::State::answered; ++ms) world_->advance(1ms);
    EXPECT_EQ(request.state, Request::State::answered);
    const bool decided = !checks.empty() && request.fault == Fault::none;
    return {
        request.charged, reservation.id, reservation.wait,       decided ? request.decision() : Decision{},
        request.source,  request.fault,  reservation.given_back, request.why};
  }
  Answer check(const store::Limit& limit, std::uint64_t cost = 1) {
    return ask(Verb::check, {{.limit = &limit, .key = "k", .cost = Cost{cost}}});
  }
  Answer reserve(const store::Limit& limit, nanoseconds max_wait, nanoseconds hold = 0s,
                 std::uint64_t cost = 1) {
    return ask(Verb::reserve, {{.limit = &limit, .key = "k", .cost = Cost{cost}}},
               {.max_wait = max_wait, .hold = hold});
  }

  SteppingRedis* redis_ = nullptr;
  std::unique_ptr<RedisWorld> world_;
};

TEST_F(RedisKnowledge, a_denial_hides_no_moment_that_was_given_up) {
  const store::Limit limit{.rule = {Quota::per(1, 5s).with_burst(1)}};
  EXPECT_TRUE(reserve(limit, 0s).granted);
  const Answer a = reserve(limit, 60s);
  const Answer b = reserve(limit, 60s);
  const Answer c = reserve(limit, 60s);
  EXPECT_EQ(c.wait, 15s);
  EXPECT_EQ(ask(Verb::cancel, {}, {.id = b.id}).given_back, 1U);
  const Answer denied = reserve(limit, 0s);
  EXPECT_FALSE(denied.granted);
  const Answer fits = reserve(limit, 15s);
  EXPECT_TRUE(fits.granted);
  EXPECT_EQ(fits.wait, 10s);
  EXPECT_EQ(a.wait, 5s);
}

TEST_F(RedisKnowledge, a_cancel_and_a_settlement_forget_what_was_denied) {
  const store::Limit limit{.rule = {Quota::per(1, 10s).with_burst(4)}};
  for (const Verb verb : {Verb::cancel, Verb::settle}) {
    ask(Verb::reset, {{.limit = &limit, .key = "k"}});
    Answer held = reserve(limit, 0s, 60s, 4);
    if (verb == Verb::cancel) held = reserve(limit, 60s, 0s, 2);
    ASSERT_TRUE(held.granted);
    EXPECT_EQ(check(limit).source, Source::store);
    const Answer remembered = check(limit);
    EXPECT_EQ(remembered.source, Source::remembered);
    EXPECT_EQ(ask(verb, {}, {.id = held.id, .actual = 0}).fault, Fault::none);
    const Answer after = check(limit);
    EXPECT_EQ(after.source, Source::store);
    EXPECT_LT(after.decision.retry_after.value_or(0s), remembered.decision.retry_after.value_or(0s));
  }
}

// As the embedded store (store/reservations_test.cpp).
TEST_F(RedisKnowledge, what_was_held_is_settled_by_limit_or_at_what_was_charged) {
  const store::Limit tokens{.rule = {Quota::per(1, 1h).with_burst(10)}, .id = 1, .name = "tokens"};
  const store::Limit requests{
      .rule = tokens.rule, .id = 2, .name = "requests", .holding = {.by_actual = false}};
  const auto both = [&](std::uint64_t cost) {
    return std::vector<Check>{{.limit = &tokens, .key = "k", .cost = Cost{4 * cost}, .colocate = "k"},
                              {.limit = &requests, .key = "k", .cost = Cost{cost}, .colocate = "k"}};
  };
  const auto left = [&] {
    std::string text;
    for (const store::Limit* each : {&tokens, &requests})
      text += std::to_string(ask(Verb::look, {{.limit = each, .key = "k", .cost = Cost{0}, .colocate = "k"}})
                                 .decision.remaining) +
              " ";
    return text;
  };
  const auto settled = [&](store::ReservationTerms asked) {
    ask(Verb::reset, both(1));
    asked.id = ask(Verb::reserve, both(2), {.hold = 60s}).id;
    EXPECT_EQ(left(), "2 8 ");
    const Answer answer = ask(Verb::settle, {}, asked);
    return (answer.fault == Fault::none ? "" : answer.why + ": ") + left();
  };
  EXPECT_EQ(settled({.actual = 3}), "7 8 ") << "an actual is for the tokens alone";
  EXPECT_EQ(settled({}), "2 8 ");
  EXPECT_EQ(settled({.actuals = {{"requests", {2}, 1}}}), "2 9 ");
  EXPECT_EQ(settled({.actuals = {{"other", {3}, 1}}}),
            "actual: the reservation has charged nothing to 'other' that can be settled: 2 8 ");
  const Answer waits = reserve({.rule = {Quota::per(1, 1s).with_burst(1)}}, 60s, 0s, 1);
  EXPECT_TRUE(waits.granted);
  const Answer next = reserve({.rule = {Quota::per(1, 1s).with_burst(1)}}, 60s, 0s, 1);
  const Answer refused = ask(Verb::settle, {}, {.id = next.id, .actual = 1});
  EXPECT_EQ(refused.fault, Fault::unsuitable);
  EXPECT_EQ(refused.why, "the reservation was granted without a hold, so there is nothing to settle");
  EXPECT_EQ(ask(Verb::cancel, {}, {.id = next.id}).given_back, 1U);
}

TEST_F(RedisKnowledge, no_time_is_told_for_what_never_passes) {
  const store::Limit small{.rule = {Quota::per(1, 100s).with_burst(1)}, .id = 1, .name = "small"};
  const store::Limit large{.rule = {Quota::per(1, 100s).with_burst(4)}, .id = 2, .name = "large"};
  const auto both = [&](std::uint64_t cost_of_large) {
    return std::vector<Check>{{.limit = &small, .key = "k", .colocate = "k"},
                              {.limit = &large, .key = "k", .cost = Cost{cost_of_large}, .colocate = "k"}};
  };
  EXPECT_TRUE(ask(Verb::check, both(1)).granted);
  EXPECT_EQ(ask(Verb::check, both(1)).decision.verdict, Verdict::denied);
  EXPECT_EQ(ask(Verb::check, both(1)).source, Source::remembered);
  for (const Verb verb : {Verb::check, Verb::reserve}) {
    const Answer never = ask(verb, both(5));
    EXPECT_EQ(never.decision.verdict, Verdict::never);
    EXPECT_FALSE(never.decision.retry_after.has_value());
    EXPECT_EQ(ask(Verb::check, both(1)).decision.verdict, Verdict::denied);
  }
}

// Issued 510 moments, five seconds ahead; then Redis says nothing for three.
TEST_F(RedisKnowledge, what_was_booked_ahead_is_not_handed_out_again_while_redis_is_away) {
  const store::Limit limit{.rule = {Quota::per_second(100).with_burst(10)}};
  int booked = 0;
  while (reserve(limit, 5s).granted) ++booked;
  EXPECT_EQ(booked, 510);
  world_->fall_silent();
  int more = 0;
  for (nanoseconds end = world_->now() + 3s; world_->now() < end; world_->advance(1ms)) {
    more += check(limit).granted ? 1 : 0;
    more += reserve(limit, 1s).granted ? 1 : 0;
  }
  EXPECT_EQ(more, 0);
  const Answer later = reserve(limit, 5s);
  EXPECT_TRUE(later.granted);
  EXPECT_EQ(later.source, Source::fallback);
  EXPECT_GT(later.wait, 1900ms);
}

// Each of the two round trips of a cancel or a settlement has the deadline to itself.
TEST_F(RedisKnowledge, a_redis_that_is_far_away_cancels_and_settles) {
  const store::Limit limit{.rule = {Quota::per(1, 10s).with_burst(4)}};
  static_cast<void>(reserve(limit, 0s, 0s, 0));  // Redis has the script from then on
  world_->be_away(30ms);
  const Answer held = reserve(limit, 0s, 60s, 4);
  const Answer waits = reserve(limit, 60s, 0s, 2);
  ASSERT_EQ(held.source, Source::store);
  ASSERT_EQ(waits.source, Source::store);
  const Answer cancelled = ask(Verb::cancel, {}, {.id = waits.id});
  EXPECT_EQ(cancelled.fault, Fault::none);
  EXPECT_EQ(cancelled.given_back, 2U);
  const Answer settled = ask(Verb::settle, {}, {.id = held.id, .actual = 1});
  EXPECT_EQ(settled.fault, Fault::none);
  EXPECT_EQ(settled.wait, 0s);
}

// A clock that is an hour ahead for 0.3 s denies nobody for an hour, and hands nothing out that is owed: what
// lies further ahead than anybody can owe is cut, in Redis too.
TEST_F(RedisKnowledge, a_clock_that_steps_ahead_for_a_moment_denies_nobody_for_long) {
  const store::Limit limit{.rule = {Quota::per_second(10).with_burst(10)}};
  const store::Limit pair[] = {{.rule = limit.rule, .id = 1, .name = "one"},
                               {.rule = {Quota::per_second(20).with_burst(20)}, .id = 2, .name = "two"}};
  const auto both = [&] {
    return std::vector<Check>{{.limit = &pair[0], .key = "k", .colocate = "k"},
                              {.limit = &pair[1], .key = "k", .colocate = "k"}};
  };
  EXPECT_TRUE(check(limit).granted);
  redis_->ahead = 1h;
  for (int i = 0; i < 3; ++i, world_->advance(100ms)) {
    EXPECT_TRUE(check(limit).granted);
    EXPECT_TRUE(ask(Verb::check, both()).granted);
  }
  redis_->ahead = 0s;
  const Answer first = check(limit);
  EXPECT_FALSE(first.granted);
  EXPECT_LE(first.decision.retry_after.value_or(0s), 61s);
  EXPECT_FALSE(ask(Verb::check, both()).granted);
  world_->advance(1s);
  const auto granted_of = [&](const auto& asks) {
    int granted = 0;
    while (asks().granted) ++granted;
    return granted;
  };
  EXPECT_EQ(granted_of([&] { return check(limit); }), 10);
  EXPECT_EQ(granted_of([&] { return ask(Verb::check, both()); }), 10);
}

// A debt of a greater burst, which nobody forgives, may be as far ahead as a step.
TEST_F(RedisKnowledge, without_a_step_nothing_that_is_owed_is_cut) {
  const store::Limit large{.rule = {Quota::per(1, 10s).with_burst(1000)}};
  const store::Limit small{.rule = {Quota::per(1, 10s).with_burst(2)}};
  EXPECT_TRUE(check(large, 1000).granted);
  EXPECT_EQ(check(small).decision.retry_after, 9'990s);
  world_->advance(2s);
  EXPECT_EQ(check(small).decision.retry_after, 9'988s);
}

}  // namespace
}  // namespace weir::redis_knowledge_test
