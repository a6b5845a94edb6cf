// ?format=redis-cell: weir and redis-cell ask for the same keys of one Redis, and what both admit is one
// limit. The module is not at hand, so a stand-in reads what it reads, as strictly as it does, and decides by
// its rule. WEIR_SEED=n repeats a random run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "redis/script.hpp"
#include "redis/server.hpp"
#include "redis/wire_test.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::redis_cell_test {
namespace {

using redis::ScriptCheck;
using redis::ValueFormat;
using resp::Value;
using std::chrono::nanoseconds;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
// From 2096 on, so that no key expires by the server's own clock.
constexpr std::int64_t kBegin = 4'000'000'000 * kSecond;

core::Rule rule_of(std::int64_t count, std::int64_t period, std::int64_t burst) {
  return core::Rule{Quota::make({count, nanoseconds{period}}, burst).value()};
}

// redis-cell 0.5.0's CL.THROTTLE, by what its README and source say it does.
class StandIn {
 public:
  explicit StandIn(RedisConnection& connection) : connection_(connection) {}

  struct Limit {
    std::int64_t burst;  // max_burst + 1
    std::int64_t count;
    std::int64_t period;  // ns
    // Rounded down.
    std::int64_t interval() const {
      return static_cast<std::int64_t>(static_cast<double>(period) / static_cast<double>(count));
    }
  };
  // Whether it admits. `panicked` is what would have ended Redis.
  bool throttle(const std::string& key, const Limit& limit, std::int64_t quantity, std::int64_t now) {
    std::int64_t tat = now;
    const Value& value = connection_.ask({"GET", key});
    if (value.type == Value::Type::error) return false;  // another type is an error and no panic
    if (value.type == Value::Type::string) {
      const auto read = parse(value.text);
      if (!read) {
        panicked = value.text;
        return false;
      }
      tat = *read;
    }
    const std::int64_t new_tat = std::max(now, tat) + quantity * limit.interval();
    if (now < new_tat - limit.burst * limit.interval()) return false;
    const std::int64_t ttl_ms = (new_tat - now) / kMs;
    connection_.ask({"SET", key, std::to_string(new_tat)});
    connection_.ask({"PEXPIREAT", key, std::to_string(now / kMs + ttl_ms)});
    return true;
  }
  std::optional<std::string> panicked;

 private:
  // An unsigned number of 64 bits, as Rust parses one.
  static std::optional<std::int64_t> parse(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
    if (text.size() > 20 || (text.size() == 20 && text > "18446744073709551615")) return std::nullopt;
    return static_cast<std::int64_t>(std::stoull(std::string(text)));
  }
  RedisConnection& connection_;
};

class BesideRedisCell : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::program().empty()) GTEST_SKIP() << "there is no redis-server";
    server_.emplace();
    connection_.emplace(*server_);
    cell_.emplace(*connection_);
    ask({"SCRIPT", "LOAD", redis::check_script()});
  }

  const Value& ask(std::initializer_list<std::string_view> words) { return connection_->ask(words); }
  std::string get(const std::string& key) { return std::string(ask({"GET", key}).text); }

  // By weir.
  tl::expected<Decision, std::string> check(const core::Rule& rule, const std::string& key,
                                            std::uint64_t cost, std::int64_t now,
                                            ValueFormat format = ValueFormat::redis_cell) {
    const std::array asks = {ScriptCheck{&rule, key, Cost{cost}, format}};
    std::array<Decision, 1> decisions;
    redis::append_check(connection_->out, asks, nanoseconds{now});
    connection_->flush();
    const auto charged = redis::read_check(connection_->receive(), asks, decisions);
    if (!charged) return tl::unexpected(charged.error());
    return decisions[0];
  }
  std::string give_back(const core::Rule& rule, const std::string& key, std::uint64_t cost, std::int64_t at,
                        std::int64_t now) {
    redis::append_give_back(connection_->out, {&rule, key, Cost{cost}, ValueFormat::redis_cell},
                            nanoseconds{at}, nanoseconds{now});
    connection_->flush();
    return std::string(connection_->receive().text);
  }
  // Of redis-server, whose clock has not come so far.
  void expire(const std::string& key, std::int64_t now) {
    const std::int64_t at = ask({"PEXPIRETIME", key}).integer;
    if (at > 0 && at * kMs <= now) ask({"DEL", key});
  }

  std::optional<RedisServer> server_;
  std::optional<RedisConnection> connection_;
  std::optional<StandIn> cell_;
};

// Where T has no fraction both are the same rule, and either may be asked: each decision is that of src/core,
// and a change of the quota re-reads the time.
TEST_F(BesideRedisCell, asked_alternately_both_decide_as_one) {
  core::Chance chance;
  int by_weir = 0, by_cell = 0, denied = 0;
  for (int trace = 0; trace < 150; ++trace) {
    const std::string key = "user:" + std::to_string(trace);
    std::vector<StandIn::Limit> limits;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t count = 1 + chance.up_to(20);
      limits.push_back({1 + chance.up_to(9), count, count * kUs * (1 + chance.up_to(400'000))});
    }
    std::int64_t now = kBegin + kUs * chance.up_to(2'000'000);
    std::uint64_t tat = 0;
    std::size_t of = 0;
    for (int i = 0; i < 60; ++i) {
      if (chance.up_to(15) == 0) of = 1 - of;
      const StandIn::Limit& limit = limits[of];
      const core::Rule rule = rule_of(limit.count, limit.period, limit.burst);
      const auto T = static_cast<std::uint64_t>(limit.interval());
      ASSERT_EQ(rule.quota.emission_interval().count(), limit.interval());
      now += kUs * chance.up_to(chance.up_to(5) == 0 ? 3 * limit.burst * limit.interval() / kUs
                                                     : 2 * limit.interval() / kUs);
      expire(key, now);
      if (ask({"EXISTS", key}).integer == 0) tat = 0;
      const std::int64_t cost = chance.up_to(chance.up_to(9) == 0 ? limit.burst : 1) + 1;
      const core::gcra::Step step =
          core::gcra::decide(rule.quota, {tat, T}, nanoseconds{now}, Cost{static_cast<std::uint64_t>(cost)});
      const bool allowed = step.verdict == Verdict::allowed;
      if (chance.up_to(1) == 0) {
        const auto decision = check(rule, key, static_cast<std::uint64_t>(cost), now);
        ASSERT_TRUE(decision) << decision.error();
        ASSERT_EQ(*decision, step.decision()) << trace << " " << i;
        by_weir += allowed ? 1 : 0;
      } else {
        ASSERT_EQ(cell_->throttle(key, limit, cost, now), allowed) << trace << " " << i;
        by_cell += allowed ? 1 : 0;
      }
      ASSERT_FALSE(cell_->panicked) << "Redis is gone: " << *cell_->panicked;
      denied += allowed ? 0 : 1;
      if (!allowed) continue;
      tat = step.next.tat;
      ASSERT_EQ(get(key), std::to_string(tat)) << "throttled compares text with the number that it has read";
    }
  }
  EXPECT_GT(by_weir, 500);
  EXPECT_GT(by_cell, 500);
  EXPECT_GT(denied, 500);
}

// Where it has one, redis-cell rounds T down and weir up. Together they keep the promise with the smaller.
TEST_F(BesideRedisCell, asked_alternately_both_keep_one_promise) {
  core::Chance chance;
  int full = 0;
  for (int trace = 0; trace < 150; ++trace) {
    const std::string key = "user:" + std::to_string(trace);
    const StandIn::Limit limit{1 + chance.up_to(9), 7, kMs * (1 + chance.up_to(5'000))};
    const core::Rule rule = rule_of(limit.count, limit.period, limit.burst);
    const std::int64_t most = limit.burst * rule.quota.emission_interval().count();
    std::int64_t now = kBegin;
    std::int64_t owed = 0;
    for (int i = 0; i < 60; ++i) {
      const std::int64_t gap = kUs * chance.up_to(2 * limit.interval() / kUs);
      now += gap;
      owed = std::max<std::int64_t>(0, owed - gap);
      const std::int64_t before = ask({"PEXPIRETIME", key}).integer;
      if (before > 0 && before * kMs <= now && owed > 0) {
        owed = 0;  // forgotten by redis-cell's TTL, up to 1 ms early
        ask({"DEL", key});
      }
      bool allowed = false;
      if (chance.up_to(1) == 0) {
        const auto decision = check(rule, key, 1, now);
        ASSERT_TRUE(decision) << decision.error();
        allowed = decision->allowed();
      } else {
        allowed = cell_->throttle(key, limit, 1, now);
      }
      ASSERT_FALSE(cell_->panicked);
      if (allowed) owed += limit.interval();
      ASSERT_LE(owed, most) << trace << " " << i;
      full += owed + limit.interval() > most ? 1 : 0;
    }
  }
  EXPECT_GT(full, 500) << "the limit was reached";
}

// Which the stand-in is there to notice.
TEST_F(BesideRedisCell, weirs_own_values_without_a_prefix_would_end_redis) {
  const core::Rule rule = rule_of(1, kSecond, 5);
  ASSERT_TRUE(check(rule, "user:42", 1, kBegin, ValueFormat::weir));
  cell_->throttle("user:42", {5, 1, kSecond}, 1, kBegin);
  EXPECT_EQ(cell_->panicked, get("user:42"));
}

TEST_F(BesideRedisCell, by_default_no_key_is_written_that_redis_cell_would_be_asked_for) {
  RedisStore store{"redis+unix://" + server_->socket_path(), {.deadline = std::chrono::seconds{10}}};
  std::vector<std::string> keys = {"",     "user:42", "limit#1:user",          "{tag}a",
                                   "weir", ":",       std::string("\0\r\n", 3)};
  for (int i = 0; i < 20; ++i) keys.push_back("k" + std::to_string(i));
  for (const Algorithm algorithm : {Algorithm::gcra, Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                    Algorithm::sliding_window_log, Algorithm::sliding_window_counter}) {
    SharedLimiter plain{Quota::per_hour(3), store, {.algorithm = algorithm}};
    SharedLimiter leasing{Quota::per_hour(100), store, {.lease = 10, .merge = true, .algorithm = algorithm}};
    const std::string mark(1, static_cast<char>('0' + static_cast<int>(algorithm)));
    for (const std::string& key : keys) {
      for (int i = 0; i < 4; ++i) static_cast<void>(plain.check(key + mark));
      EXPECT_TRUE(leasing.check(key + mark + "leased").allowed());
      EXPECT_TRUE(store.check_all({{plain, key + mark + "a"}, {plain, key + mark + "b"}}).allowed());
    }
    EXPECT_TRUE(plain.reset(keys[1] + mark));
    // A service that has not moved yet asks redis-cell for the same.
    for (const std::string& key : keys) EXPECT_TRUE(cell_->throttle(key + mark, {5, 1, kSecond}, 1, kBegin));
  }
  EXPECT_FALSE(cell_->panicked);
  std::set<std::string> written;
  for (const Value& each : ask({"KEYS", "*"}).items) written.emplace(each.text);
  for (const Value& each : ask({"KEYS", "weir:*"}).items) written.erase(std::string(each.text));
  EXPECT_EQ(written.size(), keys.size() * 5) << "those that redis-cell wrote";
}

TEST_F(BesideRedisCell, what_can_not_be_a_tat_is_not_touched) {
  const core::Rule rule = rule_of(1, kSecond, 10);
  const auto at = [](std::int64_t ns) { return std::to_string(kBegin + ns); };
  struct Row {
    std::string text;
    bool is_tat;
  };
  const Row rows[] = {
      {at(0), true},
      {at(5 * kSecond + 1), true},
      {at(1000 * kSecond), true},  // of a greater quota
      {at(-1), true},              // throttled's live up to a second longer
      {at(-60 * kSecond), true},
      {at(-60 * kSecond - 1), false},
      {at(-3600 * kSecond), false},
      {"1732147200000000000", false},  // years ago
      {"5", false},
      {"-1", false},
      {"", false},
      {"hello", false},
      {"4000000000", false},        // a time in seconds
      {"4000000000000", false},     // in ms
      {"4000000000000000", false},  // in us
      {"40000000000000000000", false},
      {"0" + at(0), false},
      {"+" + at(0), false},
      {"-" + at(0), false},
      {" " + at(0), false},
      {at(0) + "\n", false},
      {at(0) + ".5", false},
      {at(0) + " 1000000000", false},  // as weir wrote it once
      {"weir1g " + at(0) + " 1000000000", false},
  };
  const auto expect = [&](bool is_tat, const std::string& what) {
    const std::string before(ask({"DUMP", "key"}).text);
    const std::int64_t ttl = ask({"PTTL", "key"}).integer;
    for (const std::uint64_t cost : {std::uint64_t{0}, std::uint64_t{11}, std::uint64_t{1}}) {
      // Alone, with another, and several times.
      const auto alone = check(rule, "key", cost, kBegin);
      ASSERT_EQ(alone.has_value(), is_tat) << what << " cost " << cost;
      if (is_tat) continue;
      EXPECT_EQ(alone.error(), "WRONGTYPE key 1 of this request holds no state of redis-cell") << what;
      const std::array both = {ScriptCheck{&rule, "other", Cost{1}, ValueFormat::redis_cell},
                               ScriptCheck{&rule, "key", Cost{cost}, ValueFormat::redis_cell}};
      std::array<Decision, 3> decisions;
      redis::append_check(connection_->out, both, nanoseconds{kBegin});
      redis::append_times(connection_->out, both[1], 3, nanoseconds{kBegin});
      connection_->flush();
      EXPECT_EQ(redis::read_check(connection_->receive(), both, decisions).error(),
                "WRONGTYPE key 2 of this request holds no state of redis-cell");
      EXPECT_EQ(redis::read_times(connection_->receive(), both[1], decisions).error(), alone.error());
    }
    if (is_tat) return;
    EXPECT_TRUE(give_back(rule, "key", 1, kBegin, kBegin).starts_with("WRONGTYPE ")) << what;
    EXPECT_EQ(ask({"EXISTS", "other"}).integer, 0);
    EXPECT_EQ(ask({"DUMP", "key"}).text, before) << what;
    EXPECT_EQ(ask({"PTTL", "key"}).integer, ttl) << what;
  };
  for (const Row& row : rows) {
    ask({"FLUSHALL"});
    ask({"SET", "key", row.text});
    expect(row.is_tat, "'" + row.text + "'");
  }
  for (const auto& command : std::vector<std::vector<std::string>>{{"RPUSH", "key", at(0)},
                                                                   {"RPUSH", "key", "weir1l 1", at(0) + " 1"},
                                                                   {"HSET", "key", "f", at(0)},
                                                                   {"SADD", "key", at(0)},
                                                                   {"ZADD", "key", "1", at(0)}}) {
    ask({"FLUSHALL"});
    connection_->out += redis::array(command);
    connection_->flush();
    connection_->receive();
    expect(false, command[0]);
  }
}

TEST_F(BesideRedisCell, a_reset_forgets_tats_and_leaves_the_rest) {
  const auto reset = [this](const std::vector<std::string>& keys) {
    redis::append_reset(connection_->out, keys, {}, ValueFormat::redis_cell);
    connection_->flush();
    const Value& said = connection_->receive();
    return said.type == Value::Type::integer ? std::to_string(said.integer) : std::string(said.text);
  };
  const auto now = std::stoll(std::string(ask({"TIME"}).items[0].text)) * kSecond;
  const std::vector<std::string> foreign = {"5",
                                            "",
                                            "hello",
                                            std::to_string(now) + " 1",
                                            "weir1g " + std::to_string(now) + " 1",
                                            std::to_string(now - 3600 * kSecond)};
  for (const std::string& text : foreign) {
    for (const char* const key : {"a", "b"}) ask({"SET", key, std::to_string(now + kSecond)});
    ask({"SET", "foreign", text});
    EXPECT_EQ(reset({"a", "foreign", "b", "absent"}),
              "WRONGTYPE 1 of these keys hold something other than a limit");
    EXPECT_EQ(get("foreign"), text);
    EXPECT_EQ(ask({"DBSIZE"}).integer, 1) << text;
  }
  ask({"DEL", "foreign"});
  ask({"RPUSH", "log", "weir1l 1", std::to_string(now) + " 1"});
  EXPECT_TRUE(reset({"log"}).starts_with("WRONGTYPE "));
  EXPECT_EQ(ask({"LLEN", "log"}).integer, 2);
  ask({"SET", "a", std::to_string(now + kSecond)});
  EXPECT_EQ(reset({"a", "a", "absent"}), "1");
}

TEST_F(BesideRedisCell, what_is_given_back_is_time_and_no_more_than_is_owed) {
  const core::Rule rule = rule_of(1, kSecond, 10);
  ASSERT_TRUE(check(rule, "key", 5, kBegin)->allowed());
  const auto owed = [&](std::int64_t now) { return std::stoll(get("key")) - now; };
  EXPECT_EQ(give_back(rule, "key", 2, kBegin, kBegin), "");
  EXPECT_EQ(owed(kBegin), 3 * kSecond);
  give_back(rule, "key", 2, kBegin - kSecond, kBegin);  // one of two has drained
  EXPECT_EQ(owed(kBegin), 2 * kSecond);
  give_back(rule, "key", 9, kBegin, kBegin + kSecond / 2);
  EXPECT_EQ(owed(kBegin + kSecond / 2), 0);
  EXPECT_EQ(give_back(rule, "absent", 1, kBegin, kBegin), "");
  EXPECT_EQ(ask({"EXISTS", "absent"}).integer, 0);
}

TEST_F(BesideRedisCell, a_key_lives_until_it_is_as_if_never_used) {
  core::Chance chance;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t T = kUs * (1 + chance.up_to(1'000'000)) + chance.up_to(1);
    // Half of them are no longer decided by the short way.
    const core::Rule rule = rule_of(1, T, i % 2 == 0 ? 5 : 9'000'000'000'000'000 / T + 5);
    const std::string key = std::to_string(i);
    const std::int64_t now = kBegin + kUs * chance.up_to(1'000'000'000);
    ASSERT_TRUE(check(rule, key, 3, now)->allowed());
    EXPECT_EQ(get(key), std::to_string(now + 3 * T));
    const Value& said = ask({"PEXPIRETIME", key});
    if (said.type == Value::Type::error) GTEST_SKIP() << "older than Redis 7";
    EXPECT_EQ(said.integer, (now + 3 * T + kMs - 1) / kMs);
  }
}

TEST_F(BesideRedisCell, other_limits_are_refused) {
  RedisStore store{"redis+unix://" + server_->socket_path() + "?format=redis-cell"};
  const auto said = [&](Quota quota, Algorithm algorithm) -> std::string {
    try {
      const SharedLimiter limiter{quota, store, {.algorithm = algorithm}};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(said(Quota::per_hour(5), Algorithm::gcra), "accepted");
  EXPECT_EQ(
      said(Quota::per_hour(5), Algorithm::sliding_window_log),
      "weir::SharedLimiter: algorithm: sliding_window_log has no form in the format of redis-cell; gcra has");
  EXPECT_EQ(said(Quota::per_hour(5), Algorithm::fixed_window_clock),
            "weir::SharedLimiter: algorithm: fixed_window align=clock has no form in the format of "
            "redis-cell; gcra "
            "has");
  // 2^62 ns are 1,281,023.89 hours.
  EXPECT_EQ(said(Quota::make({1, std::chrono::hours{1}}, 1'281'023).value(), Algorithm::gcra), "accepted");
  EXPECT_EQ(said(Quota::make({1, std::chrono::hours{1}}, 1'281'024).value(), Algorithm::gcra),
            "weir::SharedLimiter: burst: 1281024 is above the most that the format of redis-cell holds at "
            "this rate "
            "(1281023)");
}

TEST_F(BesideRedisCell, the_public_store_shares_leases_merges_and_resets_in_it) {
  const std::string url = "redis+unix://" + server_->socket_path() + "?format=redis-cell&prefix=lim:";
  const auto now = [this] { return std::stoll(std::string(ask({"TIME"}).items[0].text)) * kSecond; };
  {
    RedisStore store{url, {.deadline = std::chrono::seconds{10}}};
    SharedLimiter limiter{Quota::per_hour(10), store};
    SharedLimiter leasing{Quota::per_hour(100), store, {.lease = 20, .merge = true}};
    EXPECT_EQ(limiter.check("user").remaining, 9);
    EXPECT_TRUE(cell_->throttle("lim:user", {10, 10, 3600 * kSecond}, 4, now()));
    EXPECT_EQ(limiter.check("user", Cost{0}).remaining, 5);
    EXPECT_TRUE(leasing.check("tenant").allowed());
    EXPECT_EQ(leasing.check("tenant").source, Source::leased);
    EXPECT_TRUE(store.check_all({{limiter, "user"}, {leasing, "both"}}).allowed());
    EXPECT_TRUE(limiter.reset("user"));
    EXPECT_EQ(limiter.check("user", Cost{0}).remaining, 10);
    ask({"SET", "lim:app", "5"});
    try {
      limiter.reset("app");
      ADD_FAILURE() << "was reset";
    } catch (const StoreFault& fault) {
      EXPECT_EQ(fault.fault(), Fault::foreign_value);
    }
    EXPECT_EQ(get("lim:app"), "5");
  }
  // What was left of the lease has come back.
  const std::int64_t owed = std::stoll(get("lim:tenant")) - now();
  EXPECT_LE(owed, 3 * 36 * kSecond);
  EXPECT_FALSE(cell_->panicked);
}

}  // namespace
}  // namespace weir::redis_cell_test
