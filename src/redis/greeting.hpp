// What is said to a node first, and how what it answers is shown to people: what knows the password.
//
// Plain values, one thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "redis/endpoint.hpp"
#include "redis/node.hpp"

namespace weir::inline v0_1::redis {

struct Greeting {
  Endpoint endpoint;
  // The first is loaded with each connection, the others where Redis says that it does not know one.
  std::vector<std::string> scripts;

  // The last of it that matters is SentCommand::Kind::last_greeting.
  void say(Node& node, std::chrono::nanoseconds now) const;
  // One line that is no longer than it helps, without a password.
  std::string shown(std::string_view why) const;
};

}  // namespace weir::redis
