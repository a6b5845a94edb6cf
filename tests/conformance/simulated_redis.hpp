// A Redis without a server, as an upstream: it carries out at once what weir asks of it.
#pragma once

#include <string>
#include <vector>

#include "conformance/redis_world.hpp"
#include "redis/script.hpp"
#include "redis/simulated_redis_test.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::store::conformance {

class SimulatedRedis : public Upstream {
 public:
  std::string answer(std::vector<std::string> words, nanoseconds wall) override {
    if (words[0] == "SET") redis_.foreign.insert(words[1]);
    if (words[0] != "EVALSHA") return redis::answer_to_greeting(words, redis::check_sha(), "");
    redis::Deed deed = redis::read_deed(words);
    return redis_.carry_out(deed, wall);
  }

 private:
  redis::SimulatedRedis redis_{.ahead = nanoseconds{0}};
};

}  // namespace weir::store::conformance
