#include "service/credentials.hpp"

#include <gtest/gtest.h>

namespace weir::service {
namespace {

TEST(Credentials, without_a_password_nothing_is_required) {
  EXPECT_FALSE(Credentials("default", "").required());
  EXPECT_TRUE(Credentials("default", "secret").required());
}

TEST(Credentials, user_and_password_must_both_be_right) {
  const Credentials credentials("app", "secret");
  EXPECT_TRUE(credentials.match("app", "secret"));
  EXPECT_FALSE(credentials.match("default", "secret"));
  EXPECT_FALSE(credentials.match("app", "secre"));
  EXPECT_FALSE(credentials.match("app", "secrets"));
  EXPECT_FALSE(credentials.match("", ""));
}

}  // namespace
}  // namespace weir::service
