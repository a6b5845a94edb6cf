// Checks against a Redis, made in several ways alternately: one line of JSON for each turn of each way.
//
//   weir_bench_redis --port P --pid SERVER [--keys N] [--fill] [--in-flight N] [--seconds S] [--turns N]
//   WAY...
//
//   weir         SharedLimiter::check with a callback that asks for the next, a fixed number in flight
//   hiredis      the same EVALSHA by hand: hiredis, as many in flight, the answer only looked at
//   weir-one     SharedLimiter::check, one at a time
//   hiredis-one  the same EVALSHA by hand, one at a time
//   lock         one at a time the recipe with a lock: SET NX PX, TIME, GET, SET, DEL
//   hot          as weir, on one key that is not denied
//   hot-merged   the same with .merge
//   hot-leased   the same with a .lease of 100
//   denied       as weir, on one key that is denied
//   denied-one   as weir-one, on one key that is denied
//
// The first five take keys at random, all of them in use and none ever denied. "commands" is what the
// server has run meanwhile. Turns are short, so that what else the machine does meets all ways alike.
// bench/redis.py makes comparisons of it.
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client.hpp"
#include "redis/script.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1::bench {
namespace {

using namespace std::chrono_literals;

// What was charged once is owed until the end, there is room for more than any run can charge, and it drains
// in the 104 days within which the script decides fast.
constexpr std::chrono::nanoseconds kInterval = 10min;
constexpr std::int64_t kBurst = 10'000;
constexpr Quota kQuota = Quota::per(1, kInterval).with_burst(kBurst);
// The same for one key: 10^9 checks, a day.
constexpr Quota kHot = Quota::per(1, 86us).with_burst(1'000'000'000);
// The second check is denied, and so is every one for an hour.
constexpr Quota kTight = Quota::per_hour(1).with_burst(1);
constexpr int kClockEvery = 64;  // checks

struct Flags {
  std::uint16_t port = 0;
  pid_t pid = 0;
  std::uint64_t keys = 100'000;
  bool fill = false;
  int in_flight = 64;
  double seconds = 0.1;  // of a turn
  int turns = 1;
  std::vector<std::string_view> ways;
};

struct Sample {
  std::uint64_t checks = 0;
  std::uint64_t allowed = 0;
};

class Keys {
 public:
  explicit Keys(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      char text[32];
      std::snprintf(text, sizeof text, "user:%012llu:login", static_cast<unsigned long long>(i));
      all_.emplace_back(text);
    }
  }
  std::string_view next() { return all_[random_() % all_.size()]; }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::mt19937_64 random_{42};
};

// ----------------------------------------------------------------------------------------------- hiredis

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

class Hiredis {
 public:
  explicit Hiredis(std::uint16_t port) : context_(redisConnect("127.0.0.1", port), &redisFree) {
    if (!context_ || context_->err != 0) throw std::runtime_error("hiredis does not connect");
  }

  void append(std::string_view command) {
    if (redisAppendFormattedCommand(context_.get(), command.data(), command.size()) != REDIS_OK) fail();
  }
  Reply reply() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) fail();
    Reply got(static_cast<redisReply*>(reply));
    if (got->type == REDIS_REPLY_ERROR) throw std::runtime_error("redis: " + std::string(got->str, got->len));
    return got;
  }
  template <class... Arguments>
  Reply ask(const char* format, Arguments... arguments) {
    if (redisAppendCommand(context_.get(), format, arguments...) != REDIS_OK) fail();
    return reply();
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(std::string("hiredis: ") + context_->errstr); }

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

// Whether the script has charged.
bool charged(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 4) {
    throw std::runtime_error("not an answer of the script");
  }
  return reply.element[0]->integer == 1;
}

// Calls of each command since the server's start.
std::map<std::string, std::uint64_t> calls_of(Hiredis& redis) {
  std::map<std::string, std::uint64_t> calls;
  const Reply info = redis.ask("INFO commandstats");
  std::string_view rest(info->str, info->len);
  constexpr std::string_view kBefore = "cmdstat_";
  constexpr std::string_view kAfter = ":calls=";
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t at = line.find(kAfter);
    if (!line.starts_with(kBefore) || at == std::string_view::npos) continue;
    calls[std::string(line.substr(kBefore.size(), at - kBefore.size()))] =
        std::strtoull(line.data() + at + kAfter.size(), nullptr, 10);
  }
  return calls;
}

void append_one(std::string& out, std::string_view key) {
  static const core::Rule kRule{kQuota};
  const redis::ScriptCheck ask{&kRule, key, Cost{1}};
  redis::append_check(out, {&ask, 1});
}

Sample by_hand(Hiredis& redis, Keys& keys, const Flags& flags) {
  Sample sample;
  std::string command;
  const auto send = [&] {
    command.clear();
    append_one(command, keys.next());
    redis.append(command);
  };
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(flags.seconds * 1e9);
  for (int i = 0; i < flags.in_flight; ++i) send();
  // redisGetReply sends what is appended when no answer is left to read, so both ways go in batches.
  for (bool over = false; !over;) {
    sample.allowed += charged(*redis.reply()) ? 1 : 0;
    if (++sample.checks % kClockEvery == 0) over = now_ns() >= end_ns;
    send();
  }
  for (int i = 0; i < flags.in_flight; ++i, ++sample.checks) {
    sample.allowed += charged(*redis.reply()) ? 1 : 0;
  }
  return sample;
}

Sample by_hand_one(Hiredis& redis, Keys& keys, const Flags& flags) {
  Sample sample;
  std::string command;
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(flags.seconds * 1e9);
  while (now_ns() < end_ns) {
    command.clear();
    append_one(command, keys.next());
    redis.append(command);
    sample.allowed += charged(*redis.reply()) ? 1 : 0;
    ++sample.checks;
  }
  return sample;
}

// GCRA by a client under a lock, as recipes have it: five round trips when nobody else wants the lock.
Sample by_lock(Hiredis& redis, Keys& keys, const Flags& flags) {
  constexpr double kInterval_s = std::chrono::duration<double>(kInterval).count();
  constexpr double kFull_s = kInterval_s * static_cast<double>(kBurst);
  Sample sample;
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(flags.seconds * 1e9);
  while (now_ns() < end_ns) {
    const std::string key = "lock-recipe:" + std::string(keys.next());
    while (redis.ask("SET %s:lock me NX PX 1000", key.c_str())->type == REDIS_REPLY_NIL) {
    }
    const Reply time = redis.ask("TIME");
    const double now = std::atof(time->element[0]->str) + std::atof(time->element[1]->str) / 1e6;
    const Reply state = redis.ask("GET %s", key.c_str());
    const double tat =
        std::max(now, state->type == REDIS_REPLY_STRING ? std::atof(state->str) : 0.0) + kInterval_s;
    if (tat <= now + kFull_s) {
      redis.ask("SET %s %s PX %lld", key.c_str(), std::to_string(tat).c_str(),
                static_cast<long long>((tat - now) * 1000) + 1);
      ++sample.allowed;
    }
    redis.ask("DEL %s:lock", key.c_str());
    ++sample.checks;
  }
  return sample;
}

// -------------------------------------------------------------------------------------------------- weir

// A fixed number of checks in flight, each answer asking for the next. An answer may come on the store's
// thread or inside check(), so the caller that finds none asking asks, and none asks from within its own
// answer.
class InFlight {
 public:
  using NextKey = std::function<std::string_view()>;

  InFlight(SharedLimiter& limiter, NextKey next_key, int most, double seconds)
      : limiter_(limiter),
        next_key_(std::move(next_key)),
        most_(most),
        end_ns_(now_ns() + static_cast<std::int64_t>(seconds * 1e9)) {}

  Sample run() {
    fill_up();
    finished_.get_future().wait();
    if (!error_.empty()) throw std::runtime_error(error_);
    return {checks_.load(), allowed_.load()};
  }

 private:
  void fill_up() {
    while (!asking_.exchange(true)) {
      while (in_flight_.load() < most_ && !over_.load(std::memory_order_relaxed)) {
        in_flight_.fetch_add(1);
        limiter_.check(next_key_(), Cost{1}, [this](const SharedResult& result) { answered(result); });
      }
      const bool last = over_.load() && in_flight_.load() == 0;
      if (last && !told_) {
        told_ = true;
        finished_.set_value();
        return;  // and nobody asks any more
      }
      asking_.store(false);
      if (!(over_.load() ? in_flight_.load() == 0 : in_flight_.load() < most_)) return;
    }
  }

  void answered(const SharedResult& result) {
    const std::uint64_t checks = checks_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (result && result->allowed()) allowed_.fetch_add(1, std::memory_order_relaxed);
    if (!result) {
      error_ = result.error().what();
      over_ = true;
    } else if (checks % kClockEvery == 0 && now_ns() >= end_ns_) {
      over_ = true;
    }
    in_flight_.fetch_sub(1);
    fill_up();
  }

  SharedLimiter& limiter_;
  NextKey next_key_;
  const int most_;
  const std::int64_t end_ns_;
  std::atomic<int> in_flight_{0};
  std::atomic<bool> asking_{false};
  std::atomic<bool> over_{false};
  bool told_ = false;
  std::atomic<std::uint64_t> checks_{0};
  std::atomic<std::uint64_t> allowed_{0};
  std::string error_;
  std::promise<void> finished_;
};

Sample one_at_a_time(SharedLimiter& limiter, const InFlight::NextKey& next_key, double seconds) {
  Sample sample;
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (now_ns() < end_ns) {
    sample.allowed += limiter.check(next_key(), Cost{1}).allowed() ? 1 : 0;
    ++sample.checks;
  }
  return sample;
}

// ------------------------------------------------------------------------------------------------ program

constexpr std::array<std::string_view, 10> kWays = {"weir",   "hiredis",   "weir-one",   "hiredis-one",
                                                    "lock",   "hot",       "hot-merged", "hot-leased",
                                                    "denied", "denied-one"};

Flags parse_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--port") {
      flags.port = parse_number<std::uint16_t>(flag, value_of(argc, argv, i), 1, 65'535);
    } else if (flag == "--pid") {
      flags.pid = parse_number<pid_t>(flag, value_of(argc, argv, i), 1, 1 << 30);
    } else if (flag == "--keys") {
      flags.keys = parse_number<std::uint64_t>(flag, value_of(argc, argv, i), 1, 10'000'000);
    } else if (flag == "--fill") {
      flags.fill = true;
    } else if (flag == "--in-flight") {
      flags.in_flight = parse_number<int>(flag, value_of(argc, argv, i), 1, 100'000);
    } else if (flag == "--seconds") {
      flags.seconds = parse_number<double>(flag, value_of(argc, argv, i), 0.001, 3600);
    } else if (flag == "--turns") {
      flags.turns = parse_number<int>(flag, value_of(argc, argv, i), 1, 1'000'000);
    } else if (std::find(kWays.begin(), kWays.end(), flag) != kWays.end()) {
      flags.ways.push_back(flag);
    } else {
      throw UsageError("'" + std::string(flag) + "' is neither a flag nor a way of this program");
    }
  }
  if (flags.port == 0 || flags.pid == 0) throw UsageError("--port and --pid are needed");
  return flags;
}

class Bench {
 public:
  explicit Bench(const Flags& flags)
      : flags_(flags), redis_(flags.port), keys_(flags.keys), store_(url(flags), options()) {
    for (int tries = 0; !store_.ready(); ++tries) {
      if (tries == 5'000) throw std::runtime_error("the store does not get ready");
      std::this_thread::sleep_for(1ms);
    }
    if (flags_.fill) fill();
    for (int i = 0; i < 3; ++i) static_cast<void>(tight_.check(denied_key()));
  }

  void turn(std::string_view way) {
    const auto before = calls_of(redis_);
    const std::int64_t server_cpu_ns = read_clock_ns(cpu_clock_of(flags_.pid));
    const std::int64_t cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const std::int64_t start_ns = now_ns();
    const Sample sample = check(way);
    const double seconds = static_cast<double>(now_ns() - start_ns) / 1e9;
    const auto checks = static_cast<double>(sample.checks);
    const auto each_us = [checks](std::int64_t ns) { return static_cast<double>(ns) / 1e3 / checks; };
    const double client_us = each_us(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
    const double server_us = each_us(read_clock_ns(cpu_clock_of(flags_.pid)) - server_cpu_ns);

    if (store_.not_decided() > 0) throw std::runtime_error("checks that the store did not decide");
    if (sample.allowed != (way.starts_with("denied") ? 0 : sample.checks)) {
      throw std::runtime_error(std::string(way) + ": decisions that are not as expected");
    }
    std::printf(
        "{\"way\": \"%s\", \"checks_per_s\": %.1f, \"checks\": %llu, \"client_cpu_us\": %.4f, "
        "\"server_cpu_us\": %.4f, \"commands\": {",
        std::string(way).c_str(), checks / seconds, static_cast<unsigned long long>(sample.checks), client_us,
        server_us);
    bool first = true;
    for (const auto& [command, calls] : calls_of(redis_)) {
      const auto was = before.find(command);
      const std::uint64_t more = calls - (was == before.end() ? 0 : was->second);
      if (more == 0 || command == "info") continue;
      std::printf("%s\"%s\": %llu", first ? "" : ", ", command.c_str(),
                  static_cast<unsigned long long>(more));
      first = false;
    }
    std::puts("}}");
  }

 private:
  static std::string url(const Flags& flags) {
    return "redis://127.0.0.1:" + std::to_string(flags.port) + "?prefix=";
  }
  // Nothing is measured when the deadline decides because the machine is busy with something else.
  static RedisStore::Options options() {
    RedisStore::Options options;
    options.deadline = 5s;
    return options;
  }
  static std::string_view denied_key() { return "a caller to deny"; }

  Sample check(std::string_view way) {
    const InFlight::NextKey any = [this] { return keys_.next(); };
    const InFlight::NextKey hot = [] { return std::string_view("a caller that all ask for"); };
    const InFlight::NextKey denied = [] { return denied_key(); };
    if (way == "weir") return runs_.emplace_back(limiter_, any, flags_.in_flight, flags_.seconds).run();
    if (way == "denied") return runs_.emplace_back(tight_, denied, flags_.in_flight, flags_.seconds).run();
    if (way == "hot") return runs_.emplace_back(hot_, hot, flags_.in_flight, flags_.seconds).run();
    if (way == "hot-leased") return runs_.emplace_back(leased_, hot, flags_.in_flight, flags_.seconds).run();
    if (way == "hot-merged") return runs_.emplace_back(merged_, hot, flags_.in_flight, flags_.seconds).run();
    if (way == "weir-one") return one_at_a_time(limiter_, any, flags_.seconds);
    if (way == "denied-one") return one_at_a_time(tight_, denied, flags_.seconds);
    if (way == "hiredis") return by_hand(redis_, keys_, flags_);
    if (way == "hiredis-one") return by_hand_one(redis_, keys_, flags_);
    return by_lock(redis_, keys_, flags_);
  }

  // Checks every key once, so that all are there before anything is measured.
  void fill() {
    std::string command;
    std::size_t unread = 0;
    for (const std::string& key : keys_.all()) {
      command.clear();
      append_one(command, key);
      redis_.append(command);
      if (++unread < 100) continue;
      for (; unread > 0; --unread) redis_.reply();
    }
    for (; unread > 0; --unread) redis_.reply();
  }

  Flags flags_;
  Hiredis redis_;
  Keys keys_;
  std::deque<InFlight> runs_;  // declared before the store, whose thread may still be leaving them
  RedisStore store_;           // it has loaded the script by the time it is ready
  SharedLimiter limiter_{kQuota, store_};
  SharedLimiter hot_{kHot, store_};
  SharedLimiter merged_{kHot, store_, {.merge = true}};
  SharedLimiter leased_{kHot, store_, {.lease = 100}};
  SharedLimiter tight_{kTight, store_};
};

int run(const Flags& flags) {
  Bench bench(flags);
  for (int turn = 0; turn < flags.turns; ++turn) {
    // Who begins changes too.
    std::vector<std::string_view> ways = flags.ways;
    if (turn % 2 != 0) std::reverse(ways.begin(), ways.end());
    for (const std::string_view way : ways) bench.turn(way);
  }
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  using namespace weir::bench;
  return run_main("weir_bench_redis", "", [argc, argv] { return run(parse_flags(argc, argv)); });
}
