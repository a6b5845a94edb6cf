// What is dangerous in how the nodes are set up: that they evict keys, and a module that shares ours.
//
// One thread. Not for: telling people (server/store_link.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "redis/node.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Setup {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::array<std::string_view, 3> kQuestion = {"CONFIG", "GET", "maxmemory-policy"};

  const std::string& eviction_policy() const { return eviction_policy_; }
  bool endangers_redis_cell() const { return endangers_redis_cell_; }

  // When to ask for the policy. Nodes that would not say are not asked again: Redis keeps a log of what it
  // has refused.
  nanoseconds due(const Nodes& nodes) const {
    const bool any = std::any_of(nodes.begin(), nodes.end(),
                                 [](const Node& node) { return node.up() && !node.eviction.empty(); });
    return any ? ask_at_ : nanoseconds::max();
  }
  void asked(nanoseconds now) {
    if (ask_at_ <= now) ask_at_ = now + std::chrono::minutes{1};
  }

  // Of several nodes, the one that evicts is the one to know of.
  void learn_policy(const Nodes& nodes) {
    for (const Node& node : nodes) {
      if (!node.up() || node.eviction.empty()) continue;
      eviction_policy_ = node.eviction;
      if (eviction_policy_ != "noeviction") return;
    }
  }
  // Of MODULE LIST; an answer that is an error names none.
  void learn_modules(const resp::Value& modules) {
    for (const resp::Value& module : modules.items) {
      for (const resp::Value& word : module.items) endangers_redis_cell_ |= word.text == "redis-cell";
    }
  }

 private:
  std::string eviction_policy_;
  nanoseconds ask_at_{0};
  bool endangers_redis_cell_ = false;
};

}  // namespace weir::redis
