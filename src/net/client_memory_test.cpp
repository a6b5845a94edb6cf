#include "net/client_memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "net/world_test.hpp"

namespace weir::inline v0_1::net {
namespace {

TEST(ClientMemory, tells_once_that_much_has_been_freed) {
  ClientMemory memory;
  EXPECT_FALSE(memory.fell());
  memory.change({}, {.rest = 30'000'000, .beyond = 10'000'000});
  memory.leaving = 40'000'000;
  memory.change({.rest = 30'000'000, .beyond = 10'000'000}, {});
  EXPECT_FALSE(memory.fell()) << "no longer charged, and not yet freed";
  memory.leaving = 1'000'000;
  EXPECT_TRUE(memory.fell());
  memory.leaving = 0;
  EXPECT_FALSE(memory.fell()) << "not much";
}

TEST(ClientMemory, what_came_and_went_between_two_looks_is_told_too) {
  ClientMemory memory;
  EXPECT_FALSE(memory.fell());
  memory.change({}, {.beyond = 40'000'000});
  memory.change({.beyond = 40'000'000}, {});
  EXPECT_TRUE(memory.fell());
  EXPECT_FALSE(memory.fell());
}

TEST(ClientMemory, what_a_session_kept_is_leaving_from_its_end_until_it_is_freed) {
  World world;
  world.start();
  world.receives(std::string(40'000, 'x'));
  const std::size_t kept = world.counters.memory.used + world.counters.memory.at_rest;
  EXPECT_GT(world.counters.memory.used, 40'000U);
  EXPECT_GT(world.counters.memory.at_rest, 0U);
  world.session->close();
  EXPECT_EQ(world.counters.memory.used, 0U);
  EXPECT_EQ(world.counters.memory.at_rest, 0U);
  EXPECT_EQ(world.counters.memory.leaving, kept);
  world.session.reset();
  world.run();
  EXPECT_EQ(world.counters.memory.leaving, 0U);
}

}  // namespace
}  // namespace weir::net
