// weir::SharedLimiter as a user of the library meets it, against a real Redis and against none.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "redis/server.hpp"
#include "redis/slot.hpp"
#include "weir/acquire.hpp"
#include "weir/asio.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::redis_store_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNobody = "redis://127.0.0.1:1";

template <class Error, class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

template <class Act>
Fault fault_of(Act act) {
  try {
    act();
  } catch (const StoreFault& fault) {
    EXPECT_STRNE(fault.what(), "");
    return fault.fault();
  }
  return Fault::none;
}

TEST(RedisStore, without_a_redis_the_policy_decides) {
  struct Row {
    OnStoreError of_store;
    std::optional<OnStoreError> of_limit;
    const char* decisions;  // of three checks under a burst of 2
  };
  const Row rows[] = {{OnStoreError::local, {}, "aad"},
                      {OnStoreError::allow, {}, "aaa"},
                      {OnStoreError::deny, {}, "ddd"},
                      {OnStoreError::deny, OnStoreError::allow, "aaa"},
                      {OnStoreError::allow, OnStoreError::local, "aad"}};
  for (const Row& row : rows) {
    RedisStore store{kNobody, {.on_store_error = row.of_store}};
    SharedLimiter limiter{Quota::per_hour(2), store, {.on_store_error = row.of_limit}};
    std::string decisions;
    for (int i = 0; i < 3; ++i) decisions += limiter.check("key").allowed() ? 'a' : 'd';
    EXPECT_EQ(decisions, row.decisions);
    EXPECT_FALSE(store.ready());
    EXPECT_EQ(store.not_decided(), 3);
    EXPECT_EQ(store.decided(), 0);
    EXPECT_EQ(limiter.check("key", Cost{0}).source, Source::fallback);
    EXPECT_EQ(fault_of([&] { limiter.reset("key"); }), Fault::store_down);
  }
}

TEST(RedisStore, refuses_what_is_not_a_store_and_shows_no_password) {
  const std::string said = refusal<std::invalid_argument>([] { RedisStore store{"http://ann:geheim@host"}; });
  EXPECT_TRUE(said.starts_with("store: ")) << said;
  EXPECT_EQ(said.find("geheim"), std::string::npos) << said;
  EXPECT_EQ(refusal<std::runtime_error>([] { RedisStore store{"rediss://host", {.tls_ca = "/nowhere"}}; }),
            "store-tls-ca: '/nowhere': No such file or directory");
}

TEST(SharedLimiter, refuses_numbers_that_cannot_be_counted) {
  RedisStore store{kNobody};
  const auto make = [&store](const Quota& quota, Algorithm algorithm) {
    return refusal<std::invalid_argument>([&] { SharedLimiter{quota, store, {.algorithm = algorithm}}; });
  };
  EXPECT_EQ(make(Quota::per_second(10), Algorithm::sliding_window_log), "accepted");
  EXPECT_TRUE(make(Quota::per_second(10).with_burst(20), Algorithm::fixed_window)
                  .starts_with("weir::SharedLimiter: "));
  EXPECT_TRUE(make(Quota::per(1, 1ns).with_burst(9'100'000'000'000'000), Algorithm::gcra)
                  .starts_with("weir::SharedLimiter: "));
}

TEST(RedisStore, a_share_of_the_limit_is_admitted_here_while_the_store_does_not_decide) {
  RedisStore store{kNobody, {.local_share = 0.5}};
  SharedLimiter limiter{Quota::per_hour(10), store};
  int admitted = 0;
  for (int i = 0; i < 20; ++i) admitted += limiter.check("key").allowed() ? 1 : 0;
  EXPECT_EQ(admitted, 5);
  for (const double share : {0.0, -1.0, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal<std::invalid_argument>([&] { RedisStore{kNobody, {.local_share = share}}; }),
              "local_share: expected above 0 and at most 1");
  }
}

// "memory:" is a store of this process.
TEST(RedisStore, in_memory_decides_at_once_by_the_clock_that_it_is_given) {
  ManualClock clock;
  RedisStore store{"memory:", {.clock = &clock}};
  EXPECT_TRUE(store.ready());
  SharedLimiter user{Quota::per_second(2), store};
  SharedLimiter tenant{Quota::per_second(3), store};
  EXPECT_TRUE(user.check("ann", Cost{2}).allowed());
  const Decision denied = user.check("ann");
  EXPECT_EQ(denied.retry_after, 500ms);
  EXPECT_EQ(denied.source, Source::store);
  clock.advance(500ms);
  EXPECT_TRUE(store.check_all({{user, "ann"}, {tenant, "acme"}}).allowed());
  EXPECT_EQ(store.check_all({{tenant, "acme"}, {user, "ann"}}).by, 1U);
  EXPECT_EQ(tenant.check("acme", Cost{0}).remaining, 2) << "what was denied has charged none";
  EXPECT_TRUE(user.reset("ann"));
  EXPECT_FALSE(user.reset("ann"));
  EXPECT_TRUE(user.check("ann").allowed());
  SharedLimiter log{Quota::per_second(2), store, {.algorithm = Algorithm::sliding_window_log}};
  EXPECT_EQ(fault_of([&] { return log.check("ann"); }), Fault::unsuitable);
  EXPECT_EQ(store.not_decided(), 0U);
}

// The store's only thread counts in the table of this process, which has 64 MiB: new keys find less and less
// room there, two of a request sometimes the same. The calls must end, and be all or none, while the table
// fills and long after it is full.
TEST(RedisStore, new_keys_of_one_request_end_in_an_answer_though_the_table_is_full) {
  ManualClock clock;
  RedisStore store{kNobody, {.clock = &clock}};
  SharedLimiter limiter{Quota::per_day(1), store};
  std::vector<std::string> names(16);
  std::vector<SharedCheck> checks;
  int number = 0;
  const auto ask = [&](std::size_t keys) {
    checks.clear();
    for (std::size_t i = 0; i < keys; ++i) {
      names[i] = std::to_string(number++);
      checks.push_back({limiter, names[i]});
    }
    return store.check_all(checks).allowed();
  };
  for (int call = 0; call < 50'000; ++call) ASSERT_TRUE(ask(2));
  int refused = 0;
  for (int call = 0; refused < 300; ++call) {
    ASSERT_LT(call, 300'000) << "it is never full";
    // Past the pause after a search for room that failed.
    if (refused > 0) clock.advance(11ms);
    if (ask(call % 16 == 0 ? 2 : 16)) continue;
    ++refused;
    if (refused % 20 == 0) {
      EXPECT_EQ(limiter.check(names[0], Cost{0}).remaining, 1);
    }
  }
}

TEST(SharedLimiter, a_batch_has_a_cost_for_each_key_and_room_for_each_decision) {
  ManualClock clock;
  RedisStore store{"memory:", {.clock = &clock}};
  SharedLimiter limiter{Quota::per_hour(10), store};
  const std::vector<KeyCost> keys = {{"a", Cost{3}}, {"b"}, {"a", Cost{8}}, {"b", Cost{11}}};
  std::vector<Decision> decisions(4);
  limiter.check(keys, decisions);
  EXPECT_EQ(decisions[0].remaining, 7);
  EXPECT_EQ(decisions[1].remaining, 9);
  EXPECT_EQ(decisions[2].verdict, Verdict::denied);
  EXPECT_EQ(decisions[3].verdict, Verdict::never);
  decisions.pop_back();
  EXPECT_EQ(refusal<std::invalid_argument>([&] { limiter.check(keys, decisions); }),
            "weir::SharedLimiter::check: 4 requests and room for 3 decisions; expected as many");
  EXPECT_EQ(limiter.check("a", Cost{0}).remaining, 7);
}

TEST(SharedLimiter, a_check_is_awaited_with_a_completion_token) {
  RedisStore store{"memory:"};
  SharedLimiter limiter{Quota::per_hour(2), store};
  namespace asio = boost::asio;
  EXPECT_EQ(limiter.check("key", asio::use_future).get().remaining, 1);
  EXPECT_EQ(limiter.check("key", Cost{3}, asio::use_future).get().verdict, Verdict::never);
  EXPECT_EQ(limiter.check("key", Quota::per_hour(9), Cost{}, asio::use_future).get().limit, 9);
  SharedLimiter log{Quota::per_second(2), store, {.algorithm = Algorithm::sliding_window_log}};
  EXPECT_EQ(fault_of([&] { return log.check("key", asio::use_future).get(); }), Fault::unsuitable);
  // The handler runs on its own executor, and that has work until then.
  asio::io_context context;
  std::thread::id ran_on;
  limiter.check("key", Cost{0}, asio::bind_executor(context, [&ran_on](std::exception_ptr, const Decision&) {
                  ran_on = std::this_thread::get_id();
                }));
  EXPECT_EQ(ran_on, std::thread::id());
  EXPECT_EQ(context.run(), 1U);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(SharedLimiter, reserves_moments_by_the_clock_that_its_store_is_given) {
  ManualClock clock;
  RedisStore store{"memory:", {.clock = &clock}};
  SharedLimiter limiter{Quota::per_second(1), store};
  const Reservation first = limiter.reserve("ann", {.max_wait = 5s});
  EXPECT_TRUE(first.granted());
  EXPECT_EQ(first.wait(), 0s);
  Reservation second = limiter.reserve("ann", {.max_wait = 5s});
  EXPECT_EQ(second.wait(), 1s);
  EXPECT_EQ(second.at(), clock.now() + 1s);
  EXPECT_EQ(second.decision().source, Source::store);
  const Reservation denied = limiter.reserve("ann", {.max_wait = 500ms});
  EXPECT_FALSE(denied.granted());
  EXPECT_EQ(denied.decision().retry_after, 1500ms) << "the shortest after which the same call is granted";
  EXPECT_EQ(limiter.reserve("ann", {.max_wait = 5s}).wait(), 2s);
  EXPECT_EQ(limiter.reserve("ann", {.max_wait = 5s}).wait(), 2s) << "the last was dropped";
  EXPECT_EQ(second.cancel(), 1U);
  EXPECT_EQ(second.cancel(), 0U);
  EXPECT_EQ(limiter.reserve("ann", Quota::per_second(1).with_burst(2), {.max_wait = 5s}).wait(), 0s);
  clock.advance(2s);
  EXPECT_TRUE(limiter.check("ann").allowed()) << "all else was given back";
  EXPECT_EQ(store.not_decided(), 0U);
}

TEST(SharedLimiter, what_was_reserved_is_settled_once) {
  ManualClock clock;
  RedisStore store{"memory:", {.clock = &clock}};
  SharedLimiter limiter{Quota::per_second(1).with_burst(10), store};
  Reservation mine = limiter.reserve("ann", {.hold = 60s}, Cost{8});
  EXPECT_EQ(mine.settle(3), 0s);
  EXPECT_EQ(mine.settle(3), std::nullopt);
  EXPECT_EQ(limiter.check("ann", Cost{0}).remaining, 7);
  // A debt, for which those who come next wait.
  EXPECT_EQ(limiter.reserve("ann", {.hold = 60s}).settle(12), 6s);
}

TEST(SharedLimiter, only_what_can_be_reserved_is) {
  RedisStore store{"memory:"};
  SharedLimiter windows{Quota::per_second(10), store, {.algorithm = Algorithm::fixed_window}};
  EXPECT_EQ(refusal<std::invalid_argument>([&] { static_cast<void>(windows.reserve("ann")); }),
            "weir::SharedLimiter::reserve: fixed_window cannot be reserved: only gcra can");
  SharedLimiter limiter{Quota::per_second(1), store};
  EXPECT_TRUE(refusal<std::invalid_argument>([&] {
                static_cast<void>(
                    limiter.reserve("ann", Quota::per(1, 1ns).with_burst(9'100'000'000'000'000)));
              }).starts_with("weir::SharedLimiter::reserve: "));
}

TEST(SharedLimiter, without_a_redis_reserves_as_its_fallback_says) {
  RedisStore store{kNobody};
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_EQ(limiter.reserve("key", {.max_wait = 9h}).wait(), 0s);
  Reservation second = limiter.reserve("key", {.max_wait = 9h});
  EXPECT_EQ(second.decision().source, Source::fallback);
  EXPECT_GT(second.wait(), 30min);
  EXPECT_EQ(second.cancel(), 1U);
  Reservation held = limiter.reserve("other", {.hold = 1h});
  EXPECT_TRUE(held.settle(2));
  SharedLimiter denying{Quota::per_hour(1), store, {.on_store_error = OnStoreError::deny}};
  EXPECT_FALSE(denying.reserve("third", {.max_wait = 9h}).granted());
  SharedLimiter allowing{Quota::per_hour(1), store, {.on_store_error = OnStoreError::allow}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allowing.reserve("third", {.max_wait = 9h}).wait(), 0s);
}

// By a stop token, as with the limiters of one process.
TEST(SharedLimiter, acquires_in_a_thread) {
  RedisStore store{"memory:"};
  SharedLimiter limiter{Quota::per_second(1'000), store};
  EXPECT_TRUE(acquire(limiter, "key", {.max_wait = 5s}).granted());
  EXPECT_TRUE(acquire(limiter, "key", {.max_wait = 5s}).granted());
  SharedLimiter slow{Quota::per_hour(1), store};
  EXPECT_TRUE(slow.check("slow").allowed());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(acquire(slow, "slow", {.max_wait = 9h}, stop.get_token()).granted());
  EXPECT_GT(slow.reserve("slow", {.max_wait = 9h}).wait(), 30min);
  EXPECT_LT(slow.reserve("slow", {.max_wait = 9h}).wait(), 61min) << "nobody waits before it";
}

class WithRedis : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::program().empty()) GTEST_SKIP() << "there is no redis-server";
    server_.emplace();
    url_ = "redis+unix://" + server_->socket_path();
  }
  std::optional<RedisServer> server_;
  std::string url_;
};

// Waits for the connection, at most as long as a slow machine may need.
void await(const RedisStore& store) {
  for (int tries = 0; !store.ready() && tries < 2'000; ++tries) std::this_thread::sleep_for(5ms);
  ASSERT_TRUE(store.ready());
}

constexpr std::chrono::seconds kPatience{10};

TEST_F(WithRedis, several_stores_and_threads_admit_exactly_the_burst) {
  struct Row {
    Algorithm algorithm;
    std::uint64_t lease;
    bool merge;
  };
  const Row rows[] = {{Algorithm::gcra, 0, false},
                      {Algorithm::gcra, 0, true},
                      {Algorithm::gcra, 7, false},
                      {Algorithm::fixed_window, 0, false},
                      {Algorithm::fixed_window, 0, true},
                      {Algorithm::sliding_window_counter, 0, true},
                      {Algorithm::sliding_window_log, 0, true}};
  int row = 0;
  for (const auto& [algorithm, lease, merge] : rows) {
    std::array<RedisStore, 2> stores{RedisStore{url_, {.deadline = kPatience}},
                                     RedisStore{url_, {.deadline = kPatience}}};
    for (const RedisStore& store : stores) await(store);
    std::atomic<int> admitted{0};
    std::vector<std::thread> threads;
    const std::string key = "k" + std::to_string(row++);
    for (RedisStore& store : stores) {
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
          SharedLimiter limiter{
              Quota::per_day(100), store, {.lease = lease, .merge = merge, .algorithm = algorithm}};
          for (int n = 0; n < 60; ++n) admitted += limiter.check(key).allowed() ? 1 : 0;
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    // A lease may hold units back that nobody spends.
    EXPECT_LE(admitted, 100);
    EXPECT_GE(admitted, lease == 0 ? 100 : 80);
    EXPECT_EQ(stores[0].not_decided() + stores[1].not_decided(), 0);
    if (lease != 0) {
      EXPECT_GT(stores[0].leased() + stores[1].leased(), 40);
    }
    const bool merges = (merge || lease != 0) && algorithm != Algorithm::sliding_window_log;
    // Where calls may merge, whether any do depends on how the threads meet.
    if (lease == 0 && !merges) {
      EXPECT_EQ(stores[0].merged() + stores[1].merged(), 0) << key;
    }
  }
}

TEST_F(WithRedis, several_limits_of_one_request_are_charged_all_or_none) {
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter user{Quota::per_day(3), store};
  SharedLimiter tenant{Quota::per_day(5), store, {.algorithm = Algorithm::sliding_window_log}};
  SharedLimiter all{Quota::per_day(100), store};
  const auto ask = [&](std::string_view of, Cost cost = {}) {
    return store.check_all({{user, of, cost}, {all, "everybody"}, {tenant, "tenant"}});
  };
  EXPECT_EQ(ask("ann").decision.remaining, 2);
  EXPECT_EQ(ask("ann", Cost{2}).by, 0U);
  EXPECT_EQ(ask("bob").decision.remaining, 2);
  EXPECT_EQ(ask("ann").decision.verdict, Verdict::denied);
  EXPECT_EQ(ask("ann", Cost{4}).decision.verdict, Verdict::never);
  EXPECT_EQ(tenant.check("tenant", Cost{0}).remaining, 2) << "what was denied has charged nobody";
  EXPECT_EQ(ask("bob").by, 0U);
  const JointDecision last = ask("cid");
  EXPECT_TRUE(last.allowed());
  EXPECT_EQ(last.by, 2U);
  EXPECT_EQ(last.decision.remaining, 0);
  const JointDecision denied = ask("dora");
  EXPECT_EQ(denied.by, 2U);
  EXPECT_EQ(denied.decision.verdict, Verdict::denied);
  EXPECT_EQ(all.check("everybody", Cost{0}).remaining, 95);
  EXPECT_EQ(user.check("dora", Cost{0}).remaining, 3);
}

TEST_F(WithRedis, check_all_says_what_is_wrong) {
  RedisStore store{url_, {.deadline = kPatience}};
  RedisStore other{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_day(3), store};
  SharedLimiter elsewhere{Quota::per_day(3), other};
  const auto said = [&store](const std::vector<SharedCheck>& checks) {
    return refusal<std::invalid_argument>([&] { return store.check_all(checks); });
  };
  const std::string all = "weir::RedisStore::check_all: ";
  EXPECT_EQ(said({}), all + "0 limits are not 1 to 16");
  EXPECT_EQ(said(std::vector<SharedCheck>(17, {limiter, "key"})), all + "17 limits are not 1 to 16");
  EXPECT_EQ(said({{limiter, "a"}, {limiter, "b"}, {limiter, "a"}}), all + "limit 2 has the key of another");
  EXPECT_EQ(said({{limiter, "a"}, {elsewhere, "b"}}), all + "limit 1 has another store");
  RedisConnection(*server_).ask({"SET", "weir:bad", "hello"});
  EXPECT_EQ(
      refusal<std::runtime_error>([&] { return store.check_all({{limiter, "fresh"}, {limiter, "bad"}}); }),
      "WRONGTYPE key 2 of this request holds no state of gcra");
  EXPECT_EQ(limiter.check("fresh", Cost{0}).remaining, 3);
}

TEST_F(WithRedis, every_call_says_who_decided_or_why_nobody_could) {
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_EQ(limiter.check("key").source, Source::store);
  EXPECT_EQ(limiter.check("key").source, Source::store);
  EXPECT_EQ(limiter.check("key").source, Source::remembered);
  EXPECT_EQ(store.check_all({{limiter, "key"}}).decision.source, Source::remembered);
  SharedLimiter leasing{Quota::per_hour(100), store, {.lease = 50}};
  EXPECT_TRUE(leasing.check("leased").allowed());
  EXPECT_EQ(leasing.check("leased").source, Source::leased);

  RedisConnection(*server_).ask({"SET", "weir:bad", "hello"});
  EXPECT_EQ(fault_of([&] { return limiter.check("bad"); }), Fault::foreign_value);
  EXPECT_EQ(fault_of([&] { return store.check_all({{limiter, "bad"}, {limiter, "fresh"}}); }),
            Fault::foreign_value);
  std::promise<Fault> promise;
  limiter.check("bad", [&promise](const SharedResult& result) { promise.set_value(result.error().fault()); });
  EXPECT_EQ(promise.get_future().get(), Fault::foreign_value);
  // In a batch the others are decided all the same.
  const std::vector<KeyCost> keys = {{"bad"}, {"good"}};
  std::vector<Decision> decisions(2);
  EXPECT_EQ(fault_of([&] { limiter.check(keys, decisions); }), Fault::foreign_value);
  EXPECT_FALSE(decisions[0].allowed());
  EXPECT_TRUE(decisions[1].allowed());
}

TEST_F(WithRedis, a_key_that_changes_plans_keeps_its_debt_in_units) {
  constexpr Quota kFree = Quota::per_day(10);
  constexpr Quota kPaid = Quota::per_day(100);
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{kFree, store};
  EXPECT_EQ(limiter.check("acme", Cost{8}).remaining, 2);
  EXPECT_EQ(limiter.check("acme", kPaid, Cost{2}).remaining, 90);
  EXPECT_EQ(limiter.check("acme").verdict, Verdict::denied);
  EXPECT_EQ(limiter.check("acme", kPaid).remaining, 89) << "a denial is remembered for its own plan";
  EXPECT_EQ(store.check_all({{limiter, "acme", Cost{9}, kPaid}, {limiter, "b"}}).by, 1U);
  EXPECT_EQ(limiter.check("acme", kPaid, Cost{0}).remaining, 80);
}

// The moments of a key are an hour apart.
TEST_F(WithRedis, moments_are_one_queue_over_all_processes) {
  RedisStore store{url_, {.deadline = kPatience}};
  RedisStore another{url_, {.deadline = kPatience}};
  await(store);
  await(another);
  SharedLimiter here{Quota::per_hour(1), store};
  SharedLimiter there{Quota::per_hour(1), another};
  const auto hours = [](const Reservation& reservation) {
    EXPECT_TRUE(reservation.granted());
    EXPECT_EQ(reservation.decision().source, Source::store);
    return std::chrono::round<std::chrono::hours>(reservation.wait()).count();
  };
  const ReserveOptions day{.max_wait = 24h};
  EXPECT_EQ(hours(here.reserve("key", day)), 0);
  std::vector<Reservation> waiting;
  for (int i = 1; i <= 6; ++i) {
    waiting.push_back((i % 2 == 0 ? here : there).reserve("key", day));
    EXPECT_EQ(hours(waiting.back()), i);
  }
  const Reservation denied = there.reserve("key", {.max_wait = 4h});
  EXPECT_FALSE(denied.granted());
  EXPECT_EQ(std::chrono::round<std::chrono::hours>(*denied.decision().retry_after), 3h);
  EXPECT_FALSE(here.check("key").allowed()) << "a check does not pass those who wait";
  // What is cancelled in the middle goes to the next that comes, in either process.
  waiting.erase(waiting.begin() + 2);
  Reservation taken = here.reserve("key", day);
  EXPECT_EQ(hours(taken), 3);
  EXPECT_EQ(taken.cancel(), 1U);
  EXPECT_EQ(taken.cancel(), 0U);
  EXPECT_EQ(hours(there.reserve("key", day)), 3) << "dropped at once";
  EXPECT_EQ(store.not_decided() + another.not_decided(), 0U);
}

TEST_F(WithRedis, what_is_held_is_settled_and_what_redis_forgot_is_not) {
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_hour(1).with_burst(10), store};
  const ReserveOptions hold{.hold = 1h};
  Reservation first = limiter.reserve("key", hold, Cost{8});
  EXPECT_EQ(first.wait(), 0s);
  EXPECT_EQ(first.settle(3), 0s);
  EXPECT_EQ(limiter.check("key", Cost{0}).remaining, 7);
  Reservation forgotten = limiter.reserve("key", hold, Cost{1});
  EXPECT_TRUE(limiter.reset("key"));
  EXPECT_EQ(forgotten.settle(9), std::nullopt);
  EXPECT_EQ(limiter.check("key", Cost{0}).remaining, 10);
}

TEST_F(WithRedis, a_reservation_outlives_a_redis_that_goes_away_and_says_so) {
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_hour(1), store, {.deadline = 500ms}};
  EXPECT_TRUE(limiter.check("key").allowed());
  Reservation waits = limiter.reserve("key", {.max_wait = 9h, .hold = 1h});
  EXPECT_GT(waits.wait(), 30min);
  server_.reset();
  EXPECT_EQ(fault_of([&] { return waits.settle(1); }), Fault::store_down);
  EXPECT_TRUE(waits.granted());
  EXPECT_EQ(waits.cancel(), 0U);
  EXPECT_EQ(limiter.reserve("key", {.max_wait = 9h}).decision().source, Source::fallback);
}

TEST_F(WithRedis, a_denial_is_remembered_and_a_reset_forgets_it) {
  RedisStore store{url_, {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_TRUE(limiter.check("key").allowed());
  EXPECT_FALSE(limiter.check("key").allowed());
  const std::uint64_t asked = store.decided();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.check("key").verdict, Verdict::denied);
  EXPECT_EQ(store.decided(), asked);
  EXPECT_EQ(store.remembered(), 100);
  EXPECT_TRUE(limiter.reset("key"));
  EXPECT_TRUE(limiter.check("key").allowed());
}

TEST_F(WithRedis, what_is_left_of_a_lease_is_given_back) {
  const Quota quota = Quota::per_day(100);
  RedisStore other{url_, {.deadline = kPatience}};
  await(other);
  SharedLimiter looker{quota, other};
  // What goes back is on its way when the check that led to it is answered.
  const auto remaining = [&](std::string_view key, std::int64_t awaited) {
    std::int64_t now = looker.check(key, Cost{0}).remaining;
    for (int tries = 0; now < awaited && tries < 1'000; ++tries) {
      std::this_thread::sleep_for(5ms);
      now = looker.check(key, Cost{0}).remaining;
    }
    return now;
  };
  {
    RedisStore store{url_, {.deadline = kPatience}};
    await(store);
    SharedLimiter slow{quota, store, {.lease = 50, .lease_for = 1h}};
    SharedLimiter brief{quota, store, {.lease = 50, .lease_for = 50ms}};
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(slow.check("slow").allowed());
      EXPECT_TRUE(brief.check("brief").allowed());
    }
    EXPECT_EQ(remaining("brief", 97), 97) << "when its time is over";
    EXPECT_GE(remaining("slow", 0), 50) << "it lasts for a second at most";
    EXPECT_TRUE(slow.check("slow", Cost{48}).allowed());
    EXPECT_EQ(remaining("slow", 47), 47) << "the former lease had too little left, which went back";
  }
  // Of the two that are left of the second, less the moments during which it lasted.
  EXPECT_GE(remaining("slow", 48), 48) << "when the store ends";
}

TEST_F(WithRedis, callbacks_come_before_the_store_ends) {
  std::atomic<int> called{0};
  {
    RedisStore store{url_, {.deadline = kPatience}};
    SharedLimiter limiter{Quota::per_hour(1000), store};
    for (int i = 0; i < 500; ++i) {
      // Owned by the callback, which therefore cannot be copied.
      auto owned = std::make_unique<int>(1);
      limiter.check("key", [&called, owned = std::move(owned)](const SharedResult& result) {
        EXPECT_TRUE(result.has_value());
        called += *owned;
      });
    }
  }
  EXPECT_EQ(called, 500);
}

class WithCluster : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::program().empty()) GTEST_SKIP() << "there is no redis-server";
    cluster_.emplace();
  }
  RedisConnection& at(const std::string& key) {
    return *cluster_->connections()[RedisCluster::owner(redis::slot_of("weir:" + key))];
  }
  std::optional<RedisCluster> cluster_;
};

TEST_F(WithCluster, limits_in_different_slots_are_charged_all_or_none) {
  RedisStore store{cluster_->url(), {.deadline = kPatience, .remember_denials = false}};
  await(store);
  SharedLimiter narrow{Quota::per_day(2), store};
  SharedLimiter wide{Quota::per_day(100), store};
  const auto ask = [&](Cost cost) {
    return store.check_all({{wide, "a", cost}, {narrow, "b", cost}, {wide, "c", cost}, {wide, "{a}d", cost}});
  };
  ASSERT_NE(&at("a"), &at("b"));
  ASSERT_NE(&at("b"), &at("c"));
  EXPECT_TRUE(ask(Cost{2}).allowed());
  for (int i = 0; i < 100; ++i) {
    const JointDecision denied = ask(Cost{1});
    ASSERT_EQ(denied.by, 1U);
    ASSERT_EQ(denied.decision.verdict, Verdict::denied);
  }
  // The last of what goes back may still be on its way, but before the next question to the same node.
  for (const char* key : {"a", "c", "{a}d"}) EXPECT_EQ(wide.check(key, Cost{0}).remaining, 98) << key;
  EXPECT_EQ(narrow.check("b", Cost{0}).remaining, 0);

  at("c").ask({"SET", "weir:c", "hello"});
  EXPECT_TRUE(narrow.reset("b"));
  EXPECT_TRUE(refusal<std::runtime_error>([&] { ask(Cost{1}); }).starts_with("WRONGTYPE key 1 of"));
  EXPECT_EQ(wide.check("a", Cost{0}).remaining, 98);
  EXPECT_EQ(narrow.check("b", Cost{0}).remaining, 2);

  SharedLimiter window{Quota::per_day(2), store, {.algorithm = Algorithm::fixed_window}};
  EXPECT_EQ(refusal<std::runtime_error>([&] { return store.check_all({{wide, "a"}, {window, "b"}}); }),
            "the keys of this request lie in different slots of the cluster, and what fixed_window has "
            "charged cannot be given back: let them share a {hash tag}");
  EXPECT_TRUE(store.check_all({{wide, "{t}a"}, {window, "{t}b"}}).allowed());
}

// A request whose keys are partly here and partly there is told TRYAGAIN until all have arrived.
TEST_F(WithCluster, several_limits_whose_slot_is_being_moved) {
  RedisStore store{cluster_->url(), {.deadline = kPatience}};
  await(store);
  SharedLimiter limiter{Quota::per_day(10), store};
  const std::string a = "{t}a";
  const std::string b = "{t}b";
  ASSERT_TRUE(store.check_all({{limiter, a}, {limiter, b}}).allowed());

  const int slot = redis::slot_of(a);
  const std::size_t to = (RedisCluster::owner(slot) + 1) % 3;
  RedisConnection& from = at(a);
  RedisConnection& target = *cluster_->connections()[to];
  const std::string from_id(from.ask({"CLUSTER", "MYID"}).text);
  const std::string target_id(target.ask({"CLUSTER", "MYID"}).text);
  const std::string number = std::to_string(slot);
  const auto move = [&](const std::string& key) {
    return std::string(
        from.ask({"MIGRATE", "127.0.0.1", cluster_->ports()[to], "weir:" + key, "0", "5000"}).text);
  };
  ASSERT_EQ(target.ask({"CLUSTER", "SETSLOT", number, "IMPORTING", from_id}).text, "OK");
  ASSERT_EQ(from.ask({"CLUSTER", "SETSLOT", number, "MIGRATING", target_id}).text, "OK");
  ASSERT_EQ(move(a), "OK");

  std::promise<JointDecision> promise;
  std::future<JointDecision> answer = promise.get_future();
  const SharedCheck both[] = {{limiter, a, Cost{2}}, {limiter, b, Cost{3}}};
  store.check_all(both, [&promise](const JointResult& result) {
    EXPECT_TRUE(result.has_value());
    promise.set_value(result.value_or(JointDecision{}));
  });
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout) << "one key here, one there";
  ASSERT_EQ(move(b), "OK");
  const JointDecision decision = answer.get();
  EXPECT_TRUE(decision.allowed());
  EXPECT_EQ(decision.decision.remaining, 6);
  EXPECT_EQ(decision.by, 1U);
  for (RedisConnection* each : {&target, &from})
    ASSERT_EQ(each->ask({"CLUSTER", "SETSLOT", number, "NODE", target_id}).text, "OK");
  EXPECT_EQ(store.check_all({{limiter, a}, {limiter, b}}).decision.remaining, 5);
  EXPECT_EQ(store.not_decided(), 0U);
}

}  // namespace
}  // namespace weir::redis_store_test
