// A Redis without a server, as an upstream: it runs the scripts that it is given.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/redis_world.hpp"
#include "redis/lua_redis_test.hpp"
#include "redis/reserve_script.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::store::conformance {

class SimulatedRedis : public Upstream {
 public:
  SimulatedRedis() = default;
  // Runs reserve.lua with another text where it has that one.
  SimulatedRedis(std::string_view that, std::string_view other) {
    std::string script(redis::reserve_script());
    const std::size_t at = script.find(that);
    if (at == std::string::npos) throw std::logic_error("reserve.lua has no " + std::string(that));
    redis_.load_as(redis::reserve_sha(), script.replace(at, that.size(), other));
  }

  std::string answer(std::vector<std::string> words, nanoseconds wall) override {
    if (redis::LuaRedis::knows(words[0])) return redis_.answer(words, wall).wire();
    return redis::answer_to_greeting(words, "", "");
  }

 private:
  redis::LuaRedis redis_;
};

}  // namespace weir::store::conformance
