#include "steering/actor.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::steering {
namespace {

TEST(Role, is_read_by_the_name_that_it_is_told_by) {
  for (const Role each : {Role::decide, Role::operate, Role::admin})
    EXPECT_EQ(read_role(name_of(each)), each);
  EXPECT_FALSE(read_role("none"));
  EXPECT_FALSE(read_role("Admin"));
  EXPECT_FALSE(read_role(""));
}

}  // namespace
}  // namespace weir::steering
