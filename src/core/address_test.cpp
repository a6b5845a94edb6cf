#include "core/address.hpp"

#include <gtest/gtest.h>

namespace weir::core {
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

struct NetworkRow {
  const char* text;
  NetworkFault fault;
  const char* network;
};

constexpr NetworkRow kNetworks[] = {
    {"10.0.0.0/8", NetworkFault::none, "10.0.0.0/8"},
    {"0.0.0.0/0", NetworkFault::none, "0.0.0.0/0"},
    {"192.0.2.1", NetworkFault::none, "192.0.2.1"},
    {"192.0.2.1/32", NetworkFault::none, "192.0.2.1"},
    {"2001:DB8::/32", NetworkFault::none, "2001:db8::/32"},
    {"::1", NetworkFault::none, "::1"},
    {"::/0", NetworkFault::none, "::/0"},
    {"::ffff:192.0.2.0/120", NetworkFault::none, "192.0.2.0/24"},
    {"::ffff:0:0/96", NetworkFault::none, "0.0.0.0/0"},
    {"10.0.0.1/8", NetworkFault::host_bits, "10.0.0.0/8"},
    {"2001:db8::1/32", NetworkFault::host_bits, "2001:db8::/32"},
    {"10.0.0.0/33", NetworkFault::bits, nullptr},
    {"::/129", NetworkFault::bits, nullptr},
    {"::ffff:192.0.2.0/24", NetworkFault::bits, nullptr},
    {"10.0.0.0/99999999999", NetworkFault::bits, nullptr},
    {"10.0.0.0/", NetworkFault::not_a_network, nullptr},
    {"10.0.0.0/-8", NetworkFault::not_a_network, nullptr},
    {"10.0.0.0/08", NetworkFault::not_a_network, nullptr},
    {"10.0.0.0/8x", NetworkFault::not_a_network, nullptr},
    {"10.0.0/8", NetworkFault::not_a_network, nullptr},
    {"/v1/x", NetworkFault::not_a_network, nullptr},
    {"", NetworkFault::not_a_network, nullptr},
};

TEST(Network, is_read_or_refused) {
  for (const NetworkRow& row : kNetworks) {
    const ReadNetwork read = read_network(row.text);
    EXPECT_EQ(read.fault, row.fault) << row.text;
    if (row.network != nullptr) {
      EXPECT_EQ(to_text(read.network), row.network) << row.text;
    }
  }
}

TEST(Network, has_its_addresses_in_any_spelling) {
  const auto has = [](const char* network, const char* address) {
    const auto parsed = parse_address(address);
    return parsed.has_value() && read_network(network).network.has(*parsed);
  };
  EXPECT_TRUE(has("10.0.0.0/8", "10.255.0.1"));
  EXPECT_TRUE(has("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_TRUE(has("10.0.0.0/8", "::ffff:a01:203"));
  EXPECT_FALSE(has("10.0.0.0/8", "11.0.0.0"));
  EXPECT_FALSE(has("10.0.0.0/8", "a00::"));
  EXPECT_FALSE(has("::/0", "10.1.2.3"));
  EXPECT_TRUE(has("::/0", "2001:db8::1"));
  EXPECT_TRUE(has("2001:db8::1", "2001:DB8:0:0::1"));
  EXPECT_FALSE(has("2001:db8::1", "2001:db8::2"));
  EXPECT_TRUE(has("192.0.2.128/25", "192.0.2.200"));
  EXPECT_FALSE(has("192.0.2.128/25", "192.0.2.100"));
}

}  // namespace
}  // namespace weir::core
