#include "core/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

struct AddressRow {
  const char* text;
  Prefixes prefixes;
  const char* key;
};

constexpr AddressRow kRows[] = {
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
  for (const AddressRow& row : kRows) {
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

// What the system says, in its spelling; other text as it is.
std::string spelled_by_the_system(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> spelling{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  inet_ntop(AF_INET6, bytes.data(), spelling.data(), spelling.size());
  const std::string found = spelling.data();
  const bool mapped = found.starts_with("::ffff:") && found.find('.') != std::string::npos;
  return mapped ? found.substr(7) : found;
}

TEST(Address, has_the_spelling_of_the_system_whatever_the_text) {
  Chance chance;
  constexpr std::string_view kPieces[] = {
      "0", "0000", "1",  "ffff",  "FFFF",    "db8", "00a", ":",         ":",
      ":", ":",    "::", "12345", "1.2.3.4", ".",   "g",   "256.1.1.1", "255.0.0.10"};
  int addresses = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    if (chance.up_to(1) == 0) {
      for (std::int64_t left = chance.up_to(14); left > 0; --left)
        text += kPieces[static_cast<std::size_t>(chance.up_to(std::size(kPieces) - 1))];
    } else {
      for (int group = 0; group < 8; ++group) {
        std::array<char, 8> digits{};
        std::snprintf(digits.data(), digits.size(), "%s%x", group == 0 ? "" : ":",
                      static_cast<unsigned>(chance.up_to(2) == 0 ? chance.up_to(0xFFFF) : 0));
        text += digits.data();
      }
      // Any stretch may be left out, so that most are still addresses.
      const auto begin = static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(text.size())));
      if (chance.up_to(3) == 0) text.replace(begin, static_cast<std::size_t>(chance.up_to(6)), "::");
    }
    if (text.find(':') == std::string::npos) continue;
    const std::string expected = spelled_by_the_system(text);
    std::string key;
    append_address(text, {}, key);
    ASSERT_EQ(key, expected) << text;
    std::array<unsigned char, 16> bytes{};
    const bool address = inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
    ASSERT_EQ(is_address(text), address) << text;
    addresses += address ? 1 : 0;
  }
  EXPECT_GT(addresses, 30'000);
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
