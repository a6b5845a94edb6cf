// Beside redis-cell in one Redis: what weir writes is never under a key that the module is asked for, to
// which it would be fatal. The module is not at hand, so a stand-in reads what it reads, as strictly as it
// does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "redis/server.hpp"
#include "redis/wire_test.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::redis_cell_test {
namespace {

using resp::Value;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
// From 2096 on, so that no key expires by the server's own clock.
constexpr std::int64_t kBegin = 4'000'000'000 * kSecond;

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
  }

  const Value& ask(std::initializer_list<std::string_view> words) { return connection_->ask(words); }

  std::optional<RedisServer> server_;
  std::optional<RedisConnection> connection_;
  std::optional<StandIn> cell_;
};

// Which the stand-in is there to notice.
TEST_F(BesideRedisCell, weirs_own_values_without_a_prefix_would_end_redis) {
  RedisStore store{"redis+unix://" + server_->socket_path() + "?prefix=",
                   {.deadline = std::chrono::seconds{10}}};
  SharedLimiter limiter{Quota::per_hour(1), store};
  ASSERT_TRUE(limiter.check("user:42").allowed());
  cell_->throttle("user:42", {5, 1, kSecond}, 1, kBegin);
  EXPECT_EQ(cell_->panicked, ask({"GET", "user:42"}).text);
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

}  // namespace
}  // namespace weir::redis_cell_test
