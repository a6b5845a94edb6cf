#include "steering/shown_key.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::steering {
namespace {

std::string shortened(const std::string& key) {
  std::string text;
  shorten_key(key, text);
  return text;
}

TEST(ShownKey, is_whole_up_to_128_bytes) {
  for (const std::string& key :
       {std::string(), std::string("user=42"), std::string(128, 'a'), std::string("\0<b>\n", 5)})
    EXPECT_EQ(shortened(key), key);
}

// printf 'a%.0s' {1..129} | sha256sum
TEST(ShownKey, beyond_is_its_first_64_bytes_and_its_digest) {
  EXPECT_EQ(
      shortened(std::string(129, 'a')),
      std::string(64, 'a') + "...sha256:c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae");
  EXPECT_EQ(shortened(std::string(64 << 10, 'a')).size(), 64U + 10 + 64);
  EXPECT_NE(shortened(std::string(200, 'a')), shortened(std::string(201, 'a')));
}

TEST(ShownKey, hashed_is_the_same_under_one_secret_alone) {
  const core::HashKey secret{1, 2};
  const std::string text = hashed_key(secret, "user", "user=42");
  EXPECT_EQ(text.size(), 17U);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef", 1), std::string::npos);
  EXPECT_EQ(text[0], '#');
  EXPECT_EQ(text, hashed_key(secret, "user", "user=42"));
  EXPECT_NE(text, hashed_key(secret, "user", "user=43"));
  EXPECT_NE(text, hashed_key(secret, "tenant", "user=42"));
  EXPECT_NE(text, hashed_key({1, 3}, "user", "user=42"));
}

}  // namespace
}  // namespace weir::steering
