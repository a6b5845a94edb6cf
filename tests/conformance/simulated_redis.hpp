// A Redis without a server, as an upstream: it runs the scripts that it is given.
#pragma once

#include <string>
#include <vector>

#include "conformance/redis_world.hpp"
#include "redis/lua_redis_test.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::store::conformance {

class SimulatedRedis : public Upstream {
 public:
  std::string answer(std::vector<std::string> words, nanoseconds wall) override {
    if (redis::LuaRedis::knows(words[0])) return redis_.answer(words, wall).wire();
    return redis::answer_to_greeting(words, "", "");
  }

 private:
  redis::LuaRedis redis_;
};

}  // namespace weir::store::conformance
