// As much as there is, where leases and slots of a cluster come between.
#include <gtest/gtest.h>

#include <string>

#include "redis/shared_world_test.hpp"
#include "redis/take_script.hpp"

namespace weir::inline v0_1::redis {
namespace {

struct Taking {
  Taking(SharedWorld& world, const core::Rule& of, std::uint64_t lease, std::uint64_t least,
         std::uint64_t most)
      : limit{.rule = of, .sharing = {.lease = lease}}, check{.limit = &limit, .key = "k"} {
    terms.least = least;
    terms.most = most;
    terms.unit[0] = 1;
    request.checks = {&check, 1};
    request.verb = store::Verb::take;
    request.take = &terms;
    request.on_answer = [](store::Request&) {};
    world.submit(request);
  }

  store::Limit limit;
  store::Check check;
  store::TakeTerms terms;
  store::Request request;
};

TEST(SharedTake, a_lease_grants_what_it_has_and_otherwise_goes_back_first) {
  SharedWorld world(kOne);
  const core::Rule hundred = rule("100/1000s");
  world.check(hundred, "k", 1, {.lease = 10});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 10");
  Taking of_lease(world, hundred, 10, 1, 4);
  EXPECT_EQ(of_lease.terms.granted, 4U);
  EXPECT_EQ(of_lease.request.source, Source::leased);
  EXPECT_EQ(world.asked(), "");
  // The store has 90 and the lease some 4: one unit of the lease has begun to melt.
  Taking of_all(world, hundred, 10, 1, 200);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "back k 5 | take k | take k") << "the script is loaded when it is first asked for";
  EXPECT_EQ(of_all.terms.granted, 95U);
  EXPECT_EQ(of_all.request.source, Source::store);
  Taking of_nothing(world, hundred, 10, 1, 200);
  world.run(1ms);
  EXPECT_EQ(of_nothing.terms.granted, 0U);
}

TEST(SharedTake, the_word_that_loads_the_script_is_one_that_redis_takes) {
  EXPECT_NE(take_script().find("local function ask(units)"), std::string::npos);
  EXPECT_EQ(take_script().find("of check.lua"), std::string::npos) << "a part is missing";
}

}  // namespace
}  // namespace weir::redis
