#include "service/authentication.hpp"

#include <gtest/gtest.h>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using Answer = Authentication::Answer;

TEST(Authentication, without_a_password_nothing_is_required) {
  EXPECT_FALSE(Authentication("default", "").required());
  EXPECT_TRUE(Authentication("default", "secret").required());
}

TEST(Authentication, user_and_password_must_both_be_right) {
  Authentication authentication("app", "secret");
  EXPECT_EQ(authentication.log_in("a", "app", "secret", 1s), Answer::accepted);
  EXPECT_EQ(authentication.log_in("a", "default", "secret", 1s), Answer::wrong);
  EXPECT_EQ(authentication.log_in("a", "app", "secre", 1s), Answer::wrong);
  EXPECT_EQ(authentication.log_in("a", "", "", 1s), Answer::wrong);
}

TEST(Authentication, an_address_has_ten_wrong_guesses_and_one_more_each_second) {
  Authentication authentication("app", "secret");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(authentication.log_in("a", "app", "guess", 1s), Answer::wrong) << i;
  EXPECT_EQ(authentication.log_in("a", "app", "guess", 1s), Answer::too_many);
  EXPECT_EQ(authentication.log_in("a", "app", "secret", 1999ms), Answer::too_many);
  EXPECT_EQ(authentication.log_in("b", "app", "guess", 1s), Answer::wrong);
  EXPECT_EQ(authentication.log_in("a", "app", "guess", 2s), Answer::wrong);
  EXPECT_EQ(authentication.log_in("a", "app", "secret", 2s), Answer::too_many);
  EXPECT_EQ(authentication.log_in("a", "app", "secret", 3s), Answer::accepted);
}

TEST(Authentication, the_right_password_costs_nothing) {
  Authentication authentication("app", "secret");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(authentication.log_in("a", "app", "secret", 1s), Answer::accepted) << i;
}

}  // namespace
}  // namespace weir::service
