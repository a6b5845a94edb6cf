#include "service/credentials.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::service {
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

TEST(SameSecret, is_equal_in_every_byte_and_in_length) {
  const std::string_view secret("s\0cret", 6);
  EXPECT_TRUE(same_secret(secret, std::string_view("s\0cret", 6)));
  EXPECT_FALSE(same_secret(secret, std::string_view("s\0cre", 5)));
  EXPECT_FALSE(same_secret(secret, std::string_view("s\0crets", 7)));
  EXPECT_FALSE(same_secret(secret, ""));
  EXPECT_FALSE(same_secret("", secret));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string guess(secret);
    guess[i] = static_cast<char>(guess[i] ^ 1);
    EXPECT_FALSE(same_secret(secret, guess)) << i;
  }
}

}  // namespace
}  // namespace weir::service
