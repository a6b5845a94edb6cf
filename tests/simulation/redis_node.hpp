// One node of the store: a Redis without a server that runs the scripts that weir ships, its clock, and what
// has gone wrong with it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "redis/lua_redis_test.hpp"
#include "redis/script.hpp"
#include "redis/wire_test.hpp"
#include "simulation/machine_clock.hpp"

namespace weir::inline v0_1::simulation {

class RedisNode {
 public:
  explicit RedisNode(MachineClock its_clock) : clock(its_clock) {}

  // `map`: the cluster's.
  std::string answer(const redis::Strings& words, const std::string& map, nanoseconds world) {
    const nanoseconds wall = std::chrono::floor<std::chrono::microseconds>(clock.wall(world));
    if (redis::LuaRedis::knows(words[0])) return redis_.answer(words, wall).wire();
    return redis::answer_to_greeting(words, redis::check_sha(), map);
  }
  redis::LuaRedis& data() { return redis_; }

  MachineClock clock;
  bool down = false;
  nanoseconds free_at{0};  // before that it runs nothing

 private:
  redis::LuaRedis redis_;
};

}  // namespace weir::simulation
