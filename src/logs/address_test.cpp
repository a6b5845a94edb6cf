#include "logs/address.hpp"

#include <gtest/gtest.h>

namespace weir::logs {
namespace {

struct Row {
  const char* text;
  Prefixes prefixes;
  const char* key;
};

constexpr Row kRows[] = {
    {"192.0.2.1", {}, "192.0.2.1"},
    {"192.0.2.200", {24, 128}, "192.0.2.0/24"},
    {"192.0.2.200", {32, 64}, "192.0.2.200"},
    {"192.0.2.200", {0, 64}, "0.0.0.0/0"},
    {"2001:DB8:0:0:0:0:0:1", {}, "2001:db8::1"},
    {"2001:db8:1:2:3:4:5:6", {32, 64}, "2001:db8:1:2::/64"},
    {"2001:db8:1:2ff:3:4:5:6", {32, 60}, "2001:db8:1:2f0::/60"},
    {"2001:db8::1", {24, 128}, "2001:db8::1"},
    // One IPv4 address in three spellings; the fourth is in another range, whatever it looks like.
    {"::ffff:192.0.2.1", {}, "192.0.2.1"},
    {"::ffff:c000:201", {}, "192.0.2.1"},
    {"::FFFF:192.0.2.200", {24, 64}, "192.0.2.0/24"},
    {"2001:db8::192.0.2.1", {}, "2001:db8::c000:201"},
    // No addresses: taken as they are.
    {"crawler.example.org", {24, 64}, "crawler.example.org"},
    {"192.0.2.1:443", {24, 64}, "192.0.2.1:443"},
    {"192.0.2.256", {24, 64}, "192.0.2.256"},
    {"192.0.2.01", {24, 64}, "192.0.2.01"},
    {"192.0.2", {24, 64}, "192.0.2"},
    {"", {24, 64}, ""},
    {"-", {}, "-"},
    {"fe80::1%eth0", {32, 64}, "fe80::1%eth0"},
    {":::", {}, ":::"},
};

TEST(Address, has_one_spelling) {
  for (const Row& row : kRows) {
    std::string key;
    append_address(row.text, row.prefixes, key);
    EXPECT_EQ(key, row.key) << row.text;
  }
}

TEST(Address, is_told_from_a_name) {
  for (const char* text :
       {"192.0.2.1", "255.255.255.255", "0.0.0.0", "::", "2001:db8::1", "::ffff:1.2.3.4"}) {
    EXPECT_TRUE(is_address(text)) << text;
  }
  for (const char* text :
       {"", "-", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "01.2.3.4", "256.1.1.1", "a.b.c.d",
        "example.org:443", "10.0.0.1:443", "2001:db8::g", "1.2.3.4 "}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
}

}  // namespace
}  // namespace weir::logs
