// The Redis store, as a world: its client's bytes go to a Redis that answers at once and goes by the time of
// the test.
//
// What that Redis is, a server of the test's own or a simulated one, is the Upstream.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/world.hpp"
#include "redis/kept_check.hpp"
#include "redis/reserve_script.hpp"
#include "redis/server.hpp"
#include "redis/shared_store.hpp"
#include "redis/wire_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::conformance {

class Upstream {
 public:
  virtual ~Upstream() = default;
  // What a Redis whose clock says `wall` answers to this command, as bytes.
  virtual std::string answer(std::vector<std::string> command, nanoseconds wall) = 0;
};

// A redis-server, the same for all worlds of a process; each world begins with an empty one.
class RealRedis : public Upstream {
 public:
  // `reserve` runs instead of reserve.lua: a canary.
  explicit RealRedis(std::string reserve = "")
      : socket_(connect_to(server().socket_path())), reserve_(std::move(reserve)) {
    if (socket_ < 0) throw std::runtime_error("no connection to redis-server");
    ask({"FLUSHALL"});
  }
  ~RealRedis() override { close(socket_); }
  RealRedis(const RealRedis&) = delete;
  RealRedis& operator=(const RealRedis&) = delete;

  static bool available() { return !RedisServer::program().empty(); }

  std::string answer(std::vector<std::string> command, nanoseconds wall) override {
    // A script takes the time from a word: check.lua from a last one where there is one, reserve.lua from its
    // second.
    if (command[0] == "EVALSHA") {
      const auto us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
      const std::string time = std::to_string(us / 1'000'000) + " " + std::to_string(us % 1'000'000);
      if (command[1] == redis::reserve_sha()) {
        command.at(4 + std::stoul(command[2])) = time;
        if (!reserve_.empty()) command[0] = "EVAL", command[1] = reserve_;
      } else {
        command.push_back(time);
      }
    }
    return ask(command);
  }

 private:
  static const RedisServer& server() {
    static const RedisServer the_server;
    return the_server;
  }

  std::string ask(const std::vector<std::string>& words) {
    const std::string out = redis::array(words);
    for (std::size_t at = 0; at < out.size();) {
      const ssize_t sent = send(socket_, out.data() + at, out.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("redis-server is gone");
      at += static_cast<std::size_t>(sent);
    }
    std::string in;
    while (parser_.parse(in).status != resp::Parsed::Status::value) {
      char bytes[4096];
      const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
      if (got <= 0) throw std::runtime_error("redis-server is gone");
      in.append(bytes, static_cast<std::size_t>(got));
    }
    return in;
  }

  int socket_;
  const std::string reserve_;
  resp::ReplyParser parser_;
};

// `cluster`: the store believes to have three nodes, and all of them are the one upstream. `away`: nobody
// ever reaches it.
class RedisWorld : public World {
 public:
  RedisWorld(std::unique_ptr<Upstream> upstream, bool cluster, Sharing its_sharing,
             redis::SharedStore::Options options = {}, bool away = false)
      : upstream_(std::move(upstream)),
        cluster_(cluster),
        sharing_(its_sharing),
        away_(away),
        store_(redis::Endpoint::parse(cluster ? "redis+cluster://a,b,c" : "redis://a").value(), options,
               local_, memory_, [this] { return now_; }) {
    store_.client().start(now_);
    settle();
  }

  Store& store() override { return store_; }
  EmbeddedStore& local() { return local_; }  // that counts while the Redis does not
  nanoseconds now() const override { return now_; }
  // Before that nothing happens, but for what others ask.
  nanoseconds next_event() {
    return on_their_way_.empty() ? client().next_tick()
                                 : std::min(client().next_tick(), on_their_way_.begin()->first);
  }
  void advance(nanoseconds time) override {
    settle();
    const nanoseconds until = now_ + time;
    int events = 0;
    for (nanoseconds next = next_event(); next <= until; next = next_event()) {
      now_ = std::max(now_, next);
      // A second of a connection at rest is like any other: hours are passed over, but for their beginning
      // and end.
      if (++events > kEventsOfRest && on_their_way_.empty())
        now_ = std::max(now_, until - std::chrono::seconds{2});
      if (!on_their_way_.empty() && on_their_way_.begin()->first <= now_) {
        const auto [node, bytes] = on_their_way_.extract(on_their_way_.begin()).mapped();
        client().received(node, bytes, now_);
      } else {
        client().tick(now_);
      }
      settle();
    }
    now_ = until;
  }
  void settle() override {
    for (auto actions = client().take_actions(); !actions.empty(); actions = client().take_actions()) {
      for (const redis::Client::Action& action : actions) act(action);
    }
  }
  // A real server forgets by its own clock what has drained by the test's, unless that is ahead of it.
  nanoseconds wall_ahead() const override { return kWallAhead - stepped_; }
  bool step_back(nanoseconds by) override {
    if (away_) return false;
    settle();
    stepped_ += by;
    return true;
  }
  Sharing sharing() const override { return sharing_; }
  bool spreads() const override { return cluster_; }
  bool keeps_order_of_several() const override { return !cluster_ && !sharing_.merge; }
  bool refuses(const core::Rule& rule) const override { return redis::unsuitable(rule).has_value(); }
  bool put_foreign_value(const Limit& limit, const std::string& key) override {
    upstream_->answer({"SET", redis::key_in_redis("weir:", {.limit = &limit, .key = key}), "hello"},
                      now_ + wall_ahead());
    return true;
  }
  // Each answer comes so long after its question.
  void be_away(nanoseconds round_trip) { round_trip_ = round_trip; }
  bool fall_silent() override { return silent_ = true; }
  void speak_again() override {
    silent_ = false;
    for (auto& [node, bytes] : held_back_) client().received(node, std::exchange(bytes, {}), now_);
    settle();
  }

 private:
  static constexpr int kEventsOfRest = 30;
  // In 2100, and no whole number of any period.
  static constexpr nanoseconds kWallAhead = std::chrono::milliseconds{4'102'444'803'217};

  redis::Client& client() { return store_.client(); }

  void act(const redis::Client::Action& action) {
    using Kind = redis::Client::Action::Kind;
    const auto node = action.node;
    if (action.kind == Kind::connect) {
      if (away_) return client().failed(node, "away", now_);
      if (!silent_) client().connected(node, now_);
    } else if (action.kind == Kind::close) {
      held_back_.erase(node);
    } else {
      std::string wire = client().take_output(node);
      while (!wire.empty()) {
        const std::string bytes = answer(redis::take_command(wire));
        if (silent_) {
          held_back_[node] += bytes;
        } else if (round_trip_.count() > 0) {
          on_their_way_.emplace(now_ + round_trip_, std::pair(node, bytes));
        } else {
          client().received(node, bytes, now_);
        }
      }
    }
  }

  std::string answer(std::vector<std::string> command) {
    if (command[0] != "CLUSTER") return upstream_->answer(std::move(command), now_ + wall_ahead());
    return redis::slots({{0, 5460, "a"}, {5461, 10922, "b"}, {10923, 16383, "c"}});
  }

  std::unique_ptr<Upstream> upstream_;
  bool cluster_;
  Sharing sharing_;
  nanoseconds now_ = std::chrono::seconds{1'000'000};
  const bool away_;
  nanoseconds stepped_{0};
  bool silent_ = false;
  nanoseconds round_trip_{0};
  std::map<redis::Client::NodeId, std::string> held_back_;
  std::multimap<nanoseconds, std::pair<redis::Client::NodeId, std::string>> on_their_way_;
  EmbeddedStore local_{std::size_t{1} << 20};
  redis::ProcessMemory memory_{redis::DenialMemory::kBytes, {1, 2}};
  redis::SharedStore store_;
};

}  // namespace weir::store::conformance
