// The engine on the bench: the connection to the node of our keys, what is asked of it, and our keys, which
// are deleted at the end.
//
// One thread. Every key lies under PREFIX{check:RANDOM}: and lives for a minute at most. Nothing is sent that
// changes what is not ours: no CONFIG SET, FLUSHALL, FLUSHDB, SCRIPT FLUSH, DEBUG or SHUTDOWN. Scripts stay
// in the engine's script cache, as weir's own do; their texts are constant, so another check adds none.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/outcome.hpp"
#include "engine/wire.hpp"
#include "redis/endpoint.hpp"
#include "redis/greeting.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::engine {

using CommandWords = std::vector<std::string>;

class Bench {
 public:
  Bench(redis::Endpoint endpoint, Open open, std::string random);

  // Finding the node, in this order; each fills what the next needs.
  Outcome find_master();  // by sentinels
  Outcome find_owner();   // in a cluster
  Outcome connect();
  Outcome authenticate();
  Outcome select();
  // The same again, after an answer that was no use: throws NoAnswer or Seen.
  void connect_again();

  // A further connection, greeted as the first.
  std::unique_ptr<Wire> another(const redis::NodeAddress& node);
  std::unique_ptr<Wire> another() { return another(node_); }

  // On the connection to the node of our keys; the answer is good until the next.
  resp::Value ask(const CommandWords& words);
  static resp::Value ask(Wire& wire, const CommandWords& words);
  // All in one write.
  void send(std::span<const CommandWords> commands);
  WireAnswer receive() { return main_->receive(); }
  Wire& wire() { return *main_; }
  // Throws Seen when the answer is an error: "SET was answered ...".
  resp::Value expect(const CommandWords& words);
  // Loads the script where it is not known yet and runs it.
  resp::Value run(const std::string& script, const CommandWords& keys, const CommandWords& arguments = {});
  CommandWords call_of(const std::string& script, const CommandWords& keys,
                       const CommandWords& arguments = {});

  // A name under our prefix, deleted at the end.
  std::string key(std::string_view name);
  void remember(std::string_view whole_name) { keys_.emplace(whole_name); }
  const std::string& prefix() const { return prefix_; }
  // Deletes our keys; over a new connection when the one there is has failed. Whether it did.
  bool delete_keys();

  std::chrono::microseconds time();  // the server's
  std::string milliseconds_from_now(std::int64_t ms) { return std::to_string(time().count() / 1000 + ms); }

  // A line of INFO; nothing when it is not there, or INFO is refused.
  std::optional<std::string> info(const std::string& section, const std::string& field);

  const redis::Endpoint& endpoint() const { return endpoint_; }
  const redis::NodeAddress& node() const { return node_; }
  const std::optional<redis::NodeAddress>& other_master() const { return other_master_; }
  bool is_cluster() const { return endpoint_.kind == redis::Endpoint::Kind::cluster; }
  // What an engine says, for people: one line without passwords.
  std::string shown(std::string_view text) const { return greeting_.shown(text); }
  std::string shown(const resp::Value& value) const;

  bool can_expire_lists = true;  // PEXPIREAT is not refused
  // How long the servers will wait for an answer.
  std::chrono::nanoseconds deadline = kStoreDeadline;

 private:
  std::string greet(Wire& wire, const std::string& user, const std::string& password) const;

  redis::Endpoint endpoint_;
  redis::Greeting greeting_;
  Open open_;
  std::string prefix_;
  redis::NodeAddress node_;
  std::optional<redis::NodeAddress> other_master_;
  std::unique_ptr<Wire> main_;
  std::set<std::string> keys_;
  std::map<std::string, std::string> loaded_;  // scripts, and their names
};

}  // namespace weir::engine
