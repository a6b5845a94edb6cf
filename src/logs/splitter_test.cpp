#include "logs/splitter.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::logs {
namespace {

TEST(Splitter, takes_ports_from_addresses) {
  const std::pair<const char*, const char*> rows[] = {
      {"192.0.2.1", "192.0.2.1"},
      {"192.0.2.1:5678", "192.0.2.1"},
      {"[2001:db8::1]:5678", "2001:db8::1"},
      {"[2001:db8::1]", "2001:db8::1"},
      {"2001:db8::1", "2001:db8::1"},
      {"2001:db8::1:5678", "2001:db8::1:5678"},  // an address as it is
      {"::1", "::1"},
      {"::", "::"},
      {"1::", "1::"},
      {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
      {"host.example:80", "host.example"},
      {"192.0.2.1:", "192.0.2.1:"},
      {"192.0.2.1:http", "192.0.2.1:http"},
      {"192.0.2.1:1234567", "192.0.2.1:1234567"},
      {"[2001:db8::1", "[2001:db8::1"},
      {"[2001:db8::1]:x", "[2001:db8::1]:x"},
      {":5678", ":5678"},
      {"unix:", "unix:"},
      {"", ""},
      {"-", "-"},
  };
  for (const auto& [address, answer] : rows) EXPECT_EQ(without_port(address), answer) << address;
}

TEST(Splitter, takes_elements_of_lists) {
  const std::string_view list = "192.0.2.1, 198.51.100.2,203.0.113.3 ";
  EXPECT_EQ(element_of(list, 0), "192.0.2.1");
  EXPECT_EQ(element_of(list, 1), "198.51.100.2");
  EXPECT_EQ(element_of(list, 2), "203.0.113.3");
  EXPECT_EQ(element_of(list, 3).data(), nullptr);
  EXPECT_EQ(element_of(list, -1), "203.0.113.3");
  EXPECT_EQ(element_of(list, -3), "192.0.2.1");
  EXPECT_EQ(element_of(list, -4).data(), nullptr);
  EXPECT_EQ(element_of("-", -1), "-");
  EXPECT_EQ(element_of("", 0), "");
  EXPECT_EQ(element_of(",", 1), "");
}

TEST(Splitter, reads_names_of_elements) {
  EXPECT_EQ(element_name("xff[-1]"), std::pair(std::string_view("xff"), std::optional<int>(-1)));
  EXPECT_EQ(element_name("a[0][2]"), std::pair(std::string_view("a[0]"), std::optional<int>(2)));
  for (const char* plain : {"xff", "[0]", "xff[", "xff[]", "xff[x]", "xff[0]x", "xff[123456]"})
    EXPECT_EQ(element_name(plain), std::pair(std::string_view(plain), std::optional<int>())) << plain;
}

}  // namespace
}  // namespace weir::logs
