#include "steering/password_hash.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::inline v0_1::steering {
namespace {

TEST(PasswordHash, is_scrypt_as_RFC_7914_has_it) {
  // Its third vector: N = 16384, r = 8, p = 1; the salt is SodiumChloride.
  const std::string text =
      "scrypt$14$8$1$536f6469756d43686c6f72696465$"
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
      "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887";
  const auto hash = PasswordHash::parse(text);
  ASSERT_TRUE(hash) << hash.error();
  EXPECT_EQ(hash->text(), text);
  EXPECT_TRUE(hash->matches("pleaseletmein"));
  EXPECT_FALSE(hash->matches("pleaseletmeim"));
  EXPECT_FALSE(hash->matches(""));
  EXPECT_TRUE(hash->is_weak());
}

TEST(PasswordHash, one_that_is_made_is_read_and_no_other_password_matches) {
  const PasswordHash made = PasswordHash::of("hunter2", {.log_n = 10, .r = 8, .p = 1});
  const PasswordHash again = PasswordHash::of("hunter2", {.log_n = 10, .r = 8, .p = 1});
  EXPECT_NE(made.text(), again.text()) << "each has a salt of its own";
  const auto read = PasswordHash::parse(made.text());
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(read->matches("hunter2"));
  EXPECT_FALSE(read->matches("hunter3"));
  EXPECT_FALSE(PasswordHash::of("x").is_weak());
}

TEST(PasswordHash, a_password_is_compared_whole_or_not_at_all) {
  const std::string longest(PasswordHash::kMostPassword, 'x');
  const PasswordHash made = PasswordHash::of(longest, {.log_n = 10, .r = 1, .p = 1});
  EXPECT_TRUE(made.matches(longest));
  EXPECT_FALSE(made.matches(longest + "y"));
}

TEST(PasswordHash, other_texts_and_those_that_cost_too_much_are_refused_and_not_shown) {
  for (const std::string text :
       {"hunter2", "scrypt$", "scrypt$14$8$5$00112233445566778899aabbccddeeff$", "scrypt$14$8$5$xx$yy",
        "scrypt$14$8$00112233445566778899aabbccddeeff$00112233445566778899aabbccddeeff",
        "scrypt$9$8$1$0011223344556677$00112233445566778899aabbccddeeff",    // costs too little
        "scrypt$17$8$1$0011223344556677$00112233445566778899aabbccddeeff",   // 128 MiB
        "scrypt$16$8$17$0011223344556677$00112233445566778899aabbccddeeff",  // 2^23 steps and more
        "scrypt$64$8$1$0011223344556677$00112233445566778899aabbccddeeff",   // 2^64
        "scrypt$14$8$1$00$00112233445566778899aabbccddeeff", "scrypt$14$8$1$0011223344556677$00"}) {
    const auto hash = PasswordHash::parse(text);
    ASSERT_FALSE(hash) << text;
    EXPECT_EQ(hash.error().find("hunter2"), std::string::npos) << hash.error();
    EXPECT_EQ(hash.error().find("0011223344"), std::string::npos) << hash.error();
  }
}

}  // namespace
}  // namespace weir::steering
