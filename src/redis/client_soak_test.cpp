// Everything that can happen to a client, by chance.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/chance_test.hpp"
#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// --------------------------------------------------------------------------------------------------- chance

// Everything that can happen, in any order: each call has one result by its deadline, is written no oftener
// than answers allowed, and when the world behaves again, so does the client.
class Soak {
 public:
  // Of a hundred answers, about `trouble` are not the ones hoped for.
  Soak(const std::string& url, int trouble, std::uint64_t seed)
      : world_(url, seed),
        random_(seed),
        trouble_(trouble),
        cluster_(url.find("cluster") != std::string::npos) {
    world_.on_done = [this](std::uint64_t tag, Cause) {
      const auto deadline = open_.find(tag);
      ASSERT_NE(deadline, open_.end());
      late_.erase({deadline->second, tag});
      open_.erase(deadline);
      if (!calm_ && chance(20)) call();
    };
    world_.on_write = [this](std::uint64_t tag) {
      const auto deadline = open_.find(tag);
      ASSERT_NE(deadline, open_.end()) << "a call was sent after its result";
      EXPECT_LT(world_.now, deadline->second) << "a call was sent after its deadline";
      EXPECT_LE(world_.write_count[tag], 1 + again_[tag]) << "a call was sent again without leave";
      EXPECT_LE(world_.write_count[tag], 17);
    };
  }

  void run(int steps) {
    world_.start();
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
    recover();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  bool unlucky() { return chance(trouble_); }
  std::string any_host() { return std::string(1, static_cast<char>('a' + below(5))); }

  void call() {
    const std::uint64_t tag = ++last_tag_;
    const nanoseconds patience = chance(2)   ? nanoseconds{-1}
                                 : chance(5) ? nanoseconds{2s}
                                             : nanoseconds{static_cast<std::int64_t>(below(60'000'000))};
    open_[tag] = world_.now + patience;
    late_.insert({world_.now + patience, tag});
    world_.client.call(world_.tagged(tag), static_cast<std::uint16_t>(below(kSlots)),
                       array({"CALL", std::to_string(tag)}), world_.now + patience, world_.now);
  }

  void step() {
    const std::uint64_t what = below(100);
    if (what < 25) {
      call();
      world_.settle();
    } else if (what < 35) {
      world_.pass(nanoseconds{static_cast<std::int64_t>(below(3'000'000))});
    } else if (what < 36 && unlucky()) {
      world_.oversleep(
          nanoseconds{static_cast<std::int64_t>(below(chance(10) ? 1'000'000'000 : 50'000'000))});
    } else {
      if (world_.hosts.empty()) return;
      auto host = world_.hosts.begin();
      std::advance(host, static_cast<std::ptrdiff_t>(below(world_.hosts.size())));
      happen(host->first, host->second);
    }
  }

  void happen(const std::string& name, World::Host& host) {
    if (host.connecting) {
      if (unlucky()) return world_.fail(name);
      if (!unlucky()) world_.accept(name);
      return;
    }
    std::string& half = half_[name];
    if (!host.open) {
      half.clear();
      return;
    }
    if (closes_[name] != host.connects.size()) half.clear();
    closes_[name] = host.connects.size();
    if (chance(1) && unlucky()) return world_.fail(name, "lost");
    // In the middle of an answer, or too many of them, would be answers to somebody else.
    if (chance(1) && unlucky() && half.empty()) {
      if (host.inbox.empty()) return world_.bytes(name, ":1\r\n");
      if (chance(20)) return world_.bytes(name, "what?\r\n");
    }
    if (chance(3)) half += ">2\r\n+message\r\n:1\r\n";
    for (std::uint64_t n = 1 + below(8); n > 0 && !host.inbox.empty(); --n) {
      half += any_answer(name, host.inbox.front());
      host.inbox.erase(host.inbox.begin());
    }
    const std::size_t size = chance(50) ? half.size() : below(half.size() + 1);
    const std::string now = half.substr(0, size);
    half.erase(0, size);
    world_.bytes(name, now);
  }

  std::string any_answer(const std::string& name, const Strings& words) {
    const std::string& command = words[0];
    if (!unlucky()) {
      if (command == "CLUSTER" && chance(10)) return world_.map = whole_map();
      if (command == "SENTINEL" && chance(10)) world_.master = any_host();
      return world_.answer_to(name, words);
    }
    if (command == "CLUSTER") return any_map();
    if (command == "SENTINEL") {
      return chance(10)   ? "*-1\r\n"
             : chance(10) ? "-ERR x\r\n"
             : chance(5)  ? array({any_host(), "x"})
                          : array({any_host(), "6379"});
    }
    if (command == "AUTH") return "-WRONGPASS x\r\n";
    if (command == "SCRIPT") return chance(50) ? "-LOADING x\r\n" : "-BUSY x\r\n";
    if (command != "CALL") return world_.answer_to(name, words);
    const std::uint64_t tag = std::stoull(words[1]);
    const std::string to = std::to_string(below(kSlots)) + " " + any_host() + ":6379\r\n";
    switch (below(12)) {
      case 0:
        ++again_[tag];
        return "-NOSCRIPT x\r\n";
      case 1:
        again_[tag] += cluster_ ? 1 : 0;
        return "-MOVED " + to;
      case 2:
        again_[tag] += cluster_ ? 1 : 0;
        return "-ASK " + to;
      case 3:
        again_[tag] += cluster_ ? 1 : 0;
        return "-TRYAGAIN x\r\n";
      case 4:
        return chance(20) ? "-READONLY x\r\n" : "-MOVED x\r\n";
      case 5:
        return "-CLUSTERDOWN x\r\n";
      case 6:
        return "-LOADING x\r\n";
      case 7:
        return "-OOM x\r\n";
      case 8:
        return chance(20) ? "-NOAUTH x\r\n" : "-NOPERM x\r\n";
      default:
        return "-WRONGTYPE x\r\n";
    }
  }

  std::string whole_map() {
    const int first = static_cast<int>(below(8000));
    const int second = first + static_cast<int>(below(8000));
    return slots({{0, first, any_host()}, {first + 1, second, any_host()}, {second + 1, 16383, any_host()}});
  }

  std::string any_map() {
    if (chance(5)) return "*0\r\n";
    if (chance(2)) return "-ERR x\r\n";
    std::vector<Range> ranges;
    int first = 0;
    while (first < kSlots) {
      const int last = std::min<int>(first + static_cast<int>(below(6000)), kSlots - 1);
      if (!chance(5)) ranges.push_back({first, last, any_host()});
      first = last + 1;
    }
    return slots(ranges);
  }

  void check() {
    if (!late_.empty()) {
      EXPECT_GT(late_.begin()->first, world_.now) << "call " << late_.begin()->second << " has no result";
    }
    EXPECT_GT(world_.client.next_tick(), world_.now);
    world_.results.clear();
    world_.deeds.clear();
    for (auto& [name, host] : world_.hosts) host.log.clear();
  }

  void recover() {
    calm_ = true;
    world_.map = slots({{0, 5000, "a"}, {5001, 10000, "b"}, {10001, 16383, "e"}});
    world_.master = "c";
    for (const std::string name : {"a", "b", "c", "d", "e"}) world_.hosts[name];
    for (auto& [name, host] : world_.hosts) {
      if (host.open && closes_[name] == host.connects.size() && !half_[name].empty())
        world_.bytes(name, half_[name]);
      host.manner = World::Manner::serves;
    }
    world_.pass(3s);
    check();
    EXPECT_TRUE(open_.empty()) << open_.size() << " calls without a result";
    EXPECT_TRUE(world_.client.ready()) << world_.client.last_error();
    for (std::uint16_t slot = 0; slot < kSlots; slot = static_cast<std::uint16_t>(slot + 1000)) {
      const std::uint64_t tag = ++last_tag_;
      open_[tag] = world_.now + 10ms;
      late_.insert({world_.now + 10ms, tag});
      world_.call(tag, slot, 10ms);
      EXPECT_EQ(world_.took(), std::to_string(tag) + " :" + std::to_string(tag));
    }
    EXPECT_EQ(world_.result_count.size(), last_tag_);
  }

  World world_;
  std::mt19937_64 random_;
  int trouble_;
  bool cluster_;
  bool calm_ = false;
  std::uint64_t last_tag_ = 0;
  std::map<std::uint64_t, nanoseconds> open_;
  std::set<std::pair<nanoseconds, std::uint64_t>> late_;
  std::map<std::uint64_t, int> again_;  // how often it may be sent again
  std::map<std::string, std::string> half_;
  std::map<std::string, std::size_t> closes_;
};

TEST(RedisClient, whatever_happens) {
  const std::uint64_t seed = core::Chance::seed();
  const unsigned rounds = core::Chance::runs(36);
  constexpr int kSteps = 8'000;
  const std::vector<std::string> urls = {"redis+cluster://:hush@a,b,z", "redis+sentinel://x,y,z/m",
                                         "redis://a"};
  for (unsigned round = 0; round < rounds && !HasFailure(); ++round) {
    const std::string& url = urls[static_cast<std::size_t>(round) % urls.size()];
    SCOPED_TRACE(url + ", round " + std::to_string(round));
    Soak(url, std::vector{2, 10, 40}[static_cast<std::size_t>(round) / 3 % 3],
         seed + static_cast<std::uint64_t>(round))
        .run(kSteps);
  }
}

}  // namespace
}  // namespace weir::redis
