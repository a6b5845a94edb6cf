#include "store/embedded_store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace weir::inline v0_1::store::embedded_store_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr core::HashKey kSeed{1, 2};

Limit limit(const char* rule, std::uint64_t id = 0) {
  return {.rule = core::Rule::parse(rule).value(), .id = id};
}

// One request that owns its checks.
struct Question : Request {
  std::vector<Check> all;
  explicit Question(std::vector<Check> of, Verb what = Verb::check) : all(std::move(of)) {
    checks = all;
    verb = what;
    on_answer = [](Request&) { FAIL() << "answered after submit() has returned"; };
  }
};

void submit(Store& store, Request& request, nanoseconds now) {
  Request* const one = &request;
  store.submit({&one, 1}, {now, now});
  ASSERT_EQ(request.state, Request::State::answered);
}

Decision ask(Store& store, const Limit& limit, std::string_view key, Cost cost, nanoseconds now) {
  Question request({{.limit = &limit, .key = key, .cost = cost}});
  submit(store, request, now);
  EXPECT_EQ(request.fault, Fault::none);
  EXPECT_EQ(request.source, Source::store);
  EXPECT_EQ(request.charged, request.decision().allowed());
  return request.decision();
}

TEST(EmbeddedStore, answers_a_batch_in_order) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit three = limit("3/min");
  std::vector<Question> requests;
  for (int i = 0; i < 200; ++i)
    requests.emplace_back(std::vector<Check>{{.limit = &three, .key = i % 2 ? "a" : "b"}});
  std::vector<Request*> batch;
  for (Question& request : requests) {
    request.checks = request.all;
    batch.push_back(&request);
  }
  store.submit(batch, {1s, 1s});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].state, Request::State::answered);
    EXPECT_EQ(requests[i].allowed(), i < 6);
    EXPECT_EQ(requests[i].charged, i < 6);
    EXPECT_EQ(requests[i].decision().remaining, i < 6 ? 2 - static_cast<std::int64_t>(i / 2) : 0) << i;
  }
}

TEST(EmbeddedStore, charges_from_when_the_requester_began_to_wait) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit one = limit("1/s");
  Question first({{.limit = &one, .key = "k"}});
  Question second({{.limit = &one, .key = "k"}});
  Request* batch[] = {&first, &second};
  store.submit(batch, {9500ms, 10s});
  EXPECT_EQ(first.decision().reset_after, 500ms);
  EXPECT_EQ(first.charged_at, 9500ms);
  EXPECT_EQ(second.decision().retry_after, 500ms);
}

TEST(EmbeddedStore, limits_that_differ_never_share_a_state) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const std::vector<Limit> limits = {limit("1/min"),
                                     limit("1/min", 1),
                                     limit("1/min", 2),
                                     limit("1/min", 256),
                                     limit("1/min", ~0U),
                                     limit("1/min algorithm=fixed_window"),
                                     limit("1/min algorithm=fixed_window", 1),
                                     limit("1/min algorithm=fixed_window align=clock"),
                                     limit("1/min algorithm=sliding_window_counter"),
                                     limit("1/min algorithm=sliding_window_counter", 1)};
  for (const std::string key : {"", "k", "another key", "a key of some length"}) {
    for (const Limit& each : limits) EXPECT_TRUE(ask(store, each, key, {}, 1s).allowed());
    for (const Limit& each : limits) EXPECT_FALSE(ask(store, each, key, {}, 1s).allowed());
  }
  EXPECT_EQ(store.table().live(1s), 4 * limits.size());
}

// The limit's numbers are not part of its identity: a debt is kept when they change.
TEST(EmbeddedStore, a_limit_with_other_numbers_has_the_same_state) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  EXPECT_EQ(ask(store, limit("10/min", 7), "k", Cost{9}, 1s).remaining, 1);
  EXPECT_EQ(ask(store, limit("20/min", 7), "k", Cost{1}, 1s).remaining, 10);
}

TEST(EmbeddedStore, several_checks_are_charged_all_or_none) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit user = limit("5/min", 1);
  const Limit tenant = limit("3/min algorithm=fixed_window", 2);
  const auto both = [&](std::uint64_t cost) {
    return std::vector<Check>{{.limit = &user, .key = "k", .cost = Cost{cost}},
                              {.limit = &tenant, .key = "k", .cost = Cost{cost}}};
  };
  Question passes(both(2));
  submit(store, passes, 1s);
  EXPECT_TRUE(passes.allowed());
  EXPECT_TRUE(passes.charged);
  EXPECT_EQ(passes.by, 1);  // the one with less left
  EXPECT_EQ(passes.decision().remaining, 1);
  Question fails(both(2));
  submit(store, fails, 1s);
  EXPECT_FALSE(fails.allowed());
  EXPECT_FALSE(fails.charged);
  EXPECT_EQ(fails.by, 1);
  EXPECT_TRUE(fails.checks[0].decision.allowed());
  EXPECT_EQ(ask(store, user, "k", Cost{0}, 1s).remaining, 3);
  EXPECT_EQ(ask(store, tenant, "k", Cost{0}, 1s).remaining, 1);
  Question never(both(4));
  submit(store, never, 1s);
  EXPECT_EQ(never.decision().verdict, Verdict::never);
  EXPECT_EQ(never.by, 1);
}

TEST(EmbeddedStore, resets_and_says_how_many_had_something_to_forget) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit one = limit("1/min");
  const Limit other = limit("1/min", 3);
  for (const char* key : {"a", "b"}) ask(store, one, key, {}, 1s);
  ask(store, other, "a", {}, 1s);
  std::vector<Check> keys;
  for (const char* key : {"a", "b", "c", "a"}) keys.push_back({.limit = &one, .key = key});
  for (int i = 0; i < 50; ++i) keys.push_back({.limit = &one, .key = "unknown"});
  Question reset(keys, Verb::reset);
  submit(store, reset, 1s);
  EXPECT_EQ(reset.forgotten, 2U);
  EXPECT_EQ(reset.fault, Fault::none);
  EXPECT_TRUE(ask(store, one, "a", {}, 1s).allowed());
  EXPECT_FALSE(ask(store, other, "a", {}, 1s).allowed());
}

TEST(EmbeddedStore, gives_back_what_has_not_drained) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit gcra = limit("10/s burst 5", 1);
  const Limit window = limit("5/s algorithm=fixed_window", 2);
  const auto charge = [&] {
    return std::vector<Check>{{.limit = &gcra, .key = "k", .cost = Cost{4}},
                              {.limit = &window, .key = "k", .cost = Cost{1}}};
  };
  Question request(charge());
  submit(store, request, 1s);
  ASSERT_TRUE(request.charged);
  Question denied(charge());
  submit(store, denied, 1s);
  ASSERT_FALSE(denied.charged);
  store.give_back(denied, 1s);  // nothing to give
  EXPECT_EQ(ask(store, gcra, "k", Cost{0}, 1s).remaining, 1);
  EXPECT_EQ(ask(store, gcra, "k", Cost{1}, 1s).remaining, 0);
  store.give_back(request, 1100ms);  // one of the four has drained
  EXPECT_EQ(ask(store, gcra, "k", Cost{0}, 1100ms).remaining, 4);
  EXPECT_EQ(ask(store, window, "k", Cost{0}, 1100ms).remaining, 4);  // a window gives nothing back
}

TEST(EmbeddedStore, what_it_cannot_do_is_a_fault_and_charges_nothing) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kSeed);
  const Limit one = limit("1/min");
  const Limit log = limit("1/min algorithm=sliding_window_log");
  const std::string of_the_log = "sliding_window_log cannot be counted by the table of this process";
  const Check checked{.limit = &one, .key = "k"};
  const Check logged{.limit = &log, .key = "k"};
  struct Row {
    std::vector<Check> checks;
    std::string why;
  };
  for (const Row& row : {Row{{}, "a request has 1 to 16 checks, not 0"},
                         Row{std::vector<Check>(17, checked), "a request has 1 to 16 checks, not 17"},
                         Row{{logged}, of_the_log}, Row{{checked, logged}, of_the_log},
                         Row{{checked, checked}, "two checks of a request have the same limit and key"}}) {
    Question request(row.checks);
    submit(store, request, 1s);
    EXPECT_EQ(request.fault, Fault::unsuitable);
    EXPECT_EQ(request.why, row.why);
    EXPECT_FALSE(request.charged);
  }
  EXPECT_EQ(store.table().live(1s), 0U);
  // The same request is as good as new afterwards.
  Question request({logged});
  submit(store, request, 1s);
  request.all[0].limit = &one;
  submit(store, request, 1s);
  EXPECT_EQ(request.fault, Fault::none);
  EXPECT_TRUE(request.allowed());
}

}  // namespace
}  // namespace weir::store::embedded_store_test
