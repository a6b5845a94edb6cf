// For tests: a Redis that is nowhere, as the hosts that a client talks to, and what they say.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/client.hpp"
#include "redis/told_call_test.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline std::string joined(const Strings& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Redis nowhere. A host does what it is told to: by default nothing, until a test says accept(), reply() or
// fail(). Whatever happens, the client is asked at once what it wants, and ticked exactly when it wants to
// be.
//
// Hosts have their names; a port shows when it is none of the usual.
class World {
 public:
  enum class Manner : std::uint8_t { manual, refuses, wedged, serves };
  struct Host {
    Client::NodeId id = 0;
    Manner manner = Manner::manual;
    bool connecting = false;
    bool open = false;
    std::string wire;            // of an incomplete command
    std::vector<Strings> inbox;  // what has not been answered
    std::vector<Strings> log;    // what sent() has not told
    std::vector<nanoseconds> connects;
    nanoseconds closed_at{-1h};
  };

  explicit World(const std::string& url, std::uint64_t seed = 1)
      : client({Endpoint::parse(url).value(), {"script"}}, {.seed = seed}) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  World& start() {
    client.start(now);
    settle();
    return *this;
  }

  // What happens.
  void accept(const std::string& host) {
    Host& it = hosts.at(host);
    ASSERT_TRUE(it.connecting) << host;
    it.connecting = false;
    it.open = true;
    client.connected(it.id, now);
    settle();
  }
  void fail(const std::string& host, const std::string& why = "refused") {
    hosts.at(host).connecting = hosts.at(host).open = false;
    client.failed(hosts.at(host).id, why, now);
    settle();
  }
  void bytes(const std::string& host, std::string_view text) {
    // A copy, so that a view that is kept is found.
    const std::unique_ptr<char[]> copy(new char[text.size()]);
    std::copy(text.begin(), text.end(), copy.get());
    client.received(hosts.at(host).id, {copy.get(), text.size()}, now);
    settle();
  }
  // To the first command that has no answer.
  void reply(const std::string& host, const std::string& text) {
    std::vector<Strings>& inbox = hosts.at(host).inbox;
    if (!inbox.empty()) inbox.erase(inbox.begin());
    bytes(host, text);
  }
  // What a host says that serves, to all that it was asked.
  void answer(const std::string& host) {
    while (hosts.at(host).open && !hosts.at(host).inbox.empty())
      reply(host, answer_to(host, hosts.at(host).inbox.front()));
  }
  void answer_one(const std::string& host) {
    if (!hosts.at(host).inbox.empty()) reply(host, answer_to(host, hosts.at(host).inbox.front()));
  }
  bool asks_for_a_call(const std::string& host) {
    return !hosts.at(host).inbox.empty() && hosts.at(host).inbox.front()[0] == "CALL";
  }
  void up(const std::string& host) {
    accept(host);
    answer(host);
    hosts.at(host).log.clear();
  }
  // A call whose result is noted under that number.
  std::unique_ptr<Call> tagged(std::uint64_t tag) {
    return std::make_unique<ToldCall>([this, tag](const Call::Result& result) { on_result(tag, result); },
                                      [this, tag] { return wanted(tag); });
  }
  void call(std::uint64_t tag, std::uint16_t slot = 0, nanoseconds deadline = 50ms) {
    client.call(tagged(tag), slot, array({"CALL", std::to_string(tag)}), now + deadline, now);
    settle();
  }
  void pass(nanoseconds time) {
    const nanoseconds until = now + time;
    while (client.next_tick() <= until) {
      now = std::max(now, client.next_tick());
      settle();
    }
    now = until;
    settle();
  }
  // The owner was busy elsewhere.
  void oversleep(nanoseconds time) {
    now += time;
    settle();
  }

  // What came of it: since this was last asked.
  std::string sent(const std::string& host) {
    std::string text;
    for (const Strings& words : std::exchange(hosts[host].log, {}))
      text += (text.empty() ? "" : " | ") + joined(words, " ");
    return text;
  }
  std::string took() { return joined(std::exchange(results, {}), "; "); }
  std::string did() { return joined(std::exchange(deeds, {}), "; "); }

  // Results so far, and how often a call was written.
  nanoseconds now = 1000s;
  std::map<std::string, Host> hosts;
  std::map<std::uint64_t, int> result_count;
  std::map<std::uint64_t, int> write_count;
  std::vector<std::string> results;
  std::vector<std::string> deeds;
  std::string map = slots({{0, 8191, "a"}, {8192, 16383, "b"}});
  std::string master = "m";
  std::string call_error;  // of a host that serves, to every call
  std::function<void(std::uint64_t tag, Cause cause)> on_done = [](std::uint64_t, Cause) {};
  std::function<bool(std::uint64_t tag)> wanted = [](std::uint64_t) { return true; };
  std::function<void(std::uint64_t tag)> on_write = [](std::uint64_t) {};
  Client client;

  std::string answer_to(const std::string&, const Strings& words) {
    const std::string& name = words[0];
    if (name == "SENTINEL") return master.empty() ? "*-1\r\n" : array({master, "6379"});
    if (name == "CALL") return call_error.empty() ? ":" + words[1] + "\r\n" : call_error + "\r\n";
    return answer_to_greeting(words, "0123456789012345678901234567890123456789", map);
  }

  // Does what the client wants until it wants nothing more at this time.
  void settle() {
    if (std::exchange(settling_, true)) return;
    for (int turns = 0;; ++turns) {
      ASSERT_LT(turns, 1000) << "never at rest";
      carry_out();
      if (client.next_tick() > now) break;
      client.tick(now);
      EXPECT_GT(client.next_tick(), now) << "a busy loop";
    }
    settling_ = false;
  }

 private:
  void carry_out() {
    for (bool more = true; more;) {
      for (const Client::Action& action : client.take_actions()) act(action);
      more = false;
      for (auto& [name, host] : hosts) {
        if (host.manner == Manner::refuses && host.connecting) {
          host.connecting = false;
          client.failed(host.id, "refused", now);
          more = true;
        } else if (host.manner != Manner::manual && host.manner != Manner::refuses && host.connecting) {
          host.connecting = false;
          host.open = true;
          client.connected(host.id, now);
          more = true;
        } else if (host.manner == Manner::serves && host.open && !host.inbox.empty()) {
          const Strings words = host.inbox.front();
          host.inbox.erase(host.inbox.begin());
          client.received(host.id, answer_to(name, words), now);
          more = true;
        }
      }
    }
  }

  void act(const Client::Action& action) {
    if (action.kind == Client::Action::Kind::connect) {
      const bool usual = action.address.port == 6379 || action.address.port == 26379;
      const std::string name = usual ? action.address.host : action.address.text();
      Host& host = hosts[name];
      EXPECT_FALSE(host.connecting || host.open) << name << ": connected twice";
      EXPECT_GE(now, host.closed_at + 10ms) << name << ": no time to rest";
      const auto former = names_.find(action.node);
      EXPECT_TRUE(former == names_.end() || former->second == name || hosts.count(former->second) == 0 ||
                  !(hosts[former->second].connecting || hosts[former->second].open))
          << name << " has the number of " << former->second;
      host.id = action.node;
      host.connecting = true;
      host.connects.push_back(now);
      names_[action.node] = name;
      deeds.push_back("connect " + name);
      return;
    }
    Host& host = hosts.at(names_.at(action.node));
    const std::string out = client.take_output(action.node);
    if (action.kind == Client::Action::Kind::close) {
      EXPECT_EQ(out, "") << "bytes to a closed connection";
      host.connecting = host.open = false;
      host.closed_at = now;
      host.wire.clear();
      host.inbox.clear();
      deeds.push_back("close " + names_.at(action.node));
      return;
    }
    EXPECT_TRUE(out.empty() || host.open) << "bytes to nobody";
    host.wire += out;
    while (!host.wire.empty()) {
      const Strings words = take_command(host.wire);
      if (words[0] == "CALL") {
        ++write_count[std::stoull(words[1])];
        on_write(std::stoull(words[1]));
      }
      host.inbox.push_back(words);
      host.log.push_back(words);
    }
  }

  void on_result(std::uint64_t tag, const Call::Result& result) {
    EXPECT_EQ(++result_count[tag], 1) << "two results for " << tag;
    std::string text = std::to_string(tag) + " ";
    if (result.cause == Cause::none) {
      EXPECT_EQ(result.error, "");
      text += result.value->type == resp::Value::Type::integer ? ":" + std::to_string(result.value->integer)
                                                               : std::string(result.value->text);
    } else {
      EXPECT_EQ(result.value, nullptr);
      EXPECT_NE(result.error, "") << "an error without words";
      text += std::string(name_of(result.cause)) + " (" + std::string(result.error) + ")";
    }
    results.push_back(text);
    on_done(tag, result.cause);
  }

  std::map<Client::NodeId, std::string> names_;
  bool settling_ = false;
};

}  // namespace weir::redis
