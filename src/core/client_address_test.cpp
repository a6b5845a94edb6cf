#include "core/client_address.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using Outcome = ClientAddress::Outcome;

std::vector<Network> networks(const std::vector<std::string>& texts) {
  std::vector<Network> all;
  for (const std::string& each : texts) all.push_back(read_network(each).network);
  return all;
}

std::string told(const std::vector<std::string>& fields, const std::vector<Network>& trusted) {
  ClientAddress client(trusted);
  for (std::size_t i = fields.size(); i > 0 && !client.take(fields[i - 1]);) --i;
  if (client.outcome() == Outcome::missing) return "missing";
  return client.outcome() == Outcome::odd ? "odd" : std::string(client.text());
}

TEST(ClientAddress, of_a_private_network_with_others_to_its_left_may_be_a_proxy) {
  struct Row {
    std::vector<std::string> fields;
    bool may;
  };
  const std::vector<Row> rows = {
      {{"203.0.113.1, 10.0.0.2"}, true},
      {{"203.0.113.1", "10.0.0.2"}, true},
      {{"203.0.113.1", " ,", "10.0.0.2"}, true},
      {{"203.0.113.1, 192.168.1.1, 10.9.9.9"}, true},  // of which the last is trusted
      {{"unknown, fd00::1"}, true},
      {{"1.1.1.1, [::1]:80"}, true},
      {{"1.1.1.1, ::ffff:10.1.1.1"}, true},
      {{"1.1.1.1, 100.64.0.1"}, true},
      {{"10.0.0.2"}, false},  // a client of our own network
      {{" ,, 10.0.0.2"}, false},
      {{"", "10.0.0.2"}, false},
      {{"203.0.113.1, 10.9.9.9"}, false},  // all as it should be
      {{"1.1.1.1, 203.0.113.1"}, false},   // the client wrote the first
      {{"1.1.1.1, 172.32.0.1"}, false},
      {{"1.1.1.1, unknown"}, false},
      {{"10.9.9.8, 10.9.9.9"}, false},  // all are trusted
  };
  const std::vector<Network> trusted = networks({"10.9.9.0/24"});
  for (const Row& row : rows) {
    ClientAddress client(trusted);
    bool ends = false;
    for (std::size_t i = row.fields.size(); i > 0; --i) {
      if (ends) {
        client.pass(row.fields[i - 1]);
      } else {
        ends = client.take(row.fields[i - 1]);
      }
    }
    EXPECT_EQ(client.may_be_a_proxys(), row.may) << row.fields.front() << " ... " << row.fields.back();
  }
}

TEST(ClientAddress, is_the_rightmost_that_is_not_trusted) {
  const std::vector<Network> trusted = networks({"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"});
  struct Row {
    std::vector<std::string> fields;
    std::string client;
  };
  const std::vector<Row> rows = {
      {{}, "missing"},
      {{""}, "missing"},
      {{" , ,\t"}, "missing"},
      {{"203.0.113.1"}, "203.0.113.1"},
      {{"1.1.1.1, 203.0.113.1"}, "203.0.113.1"},  // the client wrote the first
      {{"1.1.1.1, 203.0.113.1, 10.1.2.3"}, "203.0.113.1"},
      {{"203.0.113.1,10.1.2.3,2001:db8::5,192.0.2.7"}, "203.0.113.1"},
      {{"10.0.0.1, 10.0.0.2"}, "10.0.0.1"},  // all are trusted: the leftmost
      {{"203.0.113.1", "10.0.0.2"}, "203.0.113.1"},
      {{"1.1.1.1", "203.0.113.1"}, "203.0.113.1"},
      {{"203.0.113.1, 10.0.0.1", "", "10.0.0.2,"}, "203.0.113.1"},
      {{"garbage, 203.0.113.1"}, "203.0.113.1"},  // never looked at
      {{"203.0.113.1, garbage"}, "odd"},
      {{"203.0.113.1, unknown, 10.0.0.1"}, "odd"},
      {{"garbage, 10.0.0.1"}, "odd"},
      {{"203.0.113.1:443"}, "203.0.113.1"},
      {{"[2001:db9::1]:443"}, "2001:db9::1"},
      {{"[2001:db9::1]"}, "2001:db9::1"},
      {{"2001:db9::1"}, "2001:db9::1"},
      {{"1.1.1.1, [2001:db8::1]:80"}, "1.1.1.1"},
      {{"::ffff:203.0.113.1, ::ffff:10.0.0.1"}, "::ffff:203.0.113.1"},
      {{"203.0.113.1:"}, "odd"},
      {{"203.0.113.1:x"}, "odd"},
      {{"203.0.113.1:123456"}, "odd"},
      {{"[203.0.113.1]:80"}, "odd"},
      {{"[2001:db9::1"}, "odd"},
      {{"[2001:db9::1]x"}, "odd"},
      {{"fe80::1%eth0"}, "odd"},
      {{"\"203.0.113.1\""}, "odd"},
      {{"010.0.0.1"}, "odd"},
      {{"2130706433"}, "odd"},
      {{"127.1"}, "odd"},
      {{"203.0.113.1 10.0.0.1"}, "odd"},
      {{std::string("203.0.113.1\0", 12)}, "odd"},
  };
  for (const Row& row : rows) {
    std::string shown;
    for (const std::string& each : row.fields) shown += "'" + each + "' ";
    EXPECT_EQ(told(row.fields, trusted), row.client) << shown;
  }
}

// The same, slowly: all fields joined, then all elements as a list, looked at from its end.
std::string slowly(const std::vector<std::string>& fields, const std::vector<std::string>& trusted) {
  std::string joined;
  for (const std::string& each : fields) joined += "," + each;
  std::vector<std::string> elements{""};
  for (const char c : joined) {
    if (c == ',') {
      elements.emplace_back();
    } else if (c != ' ' && c != '\t') {
      elements.back() += c;
    }
  }
  std::erase(elements, "");
  std::string last = "missing";
  while (!elements.empty()) {
    std::string text = elements.back();
    elements.pop_back();
    if (const std::size_t port = text.find("]:"); port != std::string::npos) text.resize(port + 1);
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (const std::size_t port = text.find(":80");
        text.find('.') != std::string::npos && port != std::string::npos)
      text.resize(port);
    if (!is_address(text)) return "odd";
    last = text;
    bool believed = false;
    for (const std::string& each : trusted) believed = believed || text.starts_with(each);
    if (!believed) return text;
  }
  return last;
}

TEST(ClientAddress, agrees_with_a_slow_one) {
  Chance chance;
  const std::vector<std::string> parts = {"10.0.0.1",
                                          "10.9.8.7:80",
                                          "203.0.113.1",
                                          "198.51.100.2:80",
                                          "2001:db8::1",
                                          "[2001:db8::2]",
                                          "[2001:db8::3]:80",
                                          "2001:db9::1",
                                          "[2001:db9::2]:80",
                                          "unknown",
                                          "",
                                          "1.2.3",
                                          "1.2.3.4.5",
                                          "256.1.1.1",
                                          ":::",
                                          "_x"};
  const std::vector<Network> trusted = networks({"10.0.0.0/8", "2001:db8::/32"});
  const std::vector<std::string> prefixes = {"10.", "2001:db8:"};
  std::array<int, 3> seen{};
  for (int i = 0; i < 50'000; ++i) {
    std::vector<std::string> fields;
    for (std::int64_t left = chance.up_to(3); left > 0; --left) {
      std::string& field = fields.emplace_back();
      for (std::int64_t more = chance.up_to(4); more > 0; --more) {
        const auto which = chance.up_to(static_cast<std::int64_t>(parts.size()) - 1);
        field += (field.empty()          ? ""
                  : chance.up_to(1) == 0 ? ","
                                         : " ,\t") +
                 parts[static_cast<std::size_t>(which)];
      }
    }
    const std::string expected = slowly(fields, prefixes);
    std::string shown;
    for (const std::string& each : fields) shown += "'" + each + "' ";
    ASSERT_EQ(told(fields, trusted), expected) << shown;
    ++seen[expected == "odd" ? 0 : expected == "missing" ? 1 : 2];
  }
  for (const int each : seen) EXPECT_GT(each, 1000);
}

TEST(ClientAddress, nonsense_is_odd_or_an_address) {
  Chance chance(1);
  constexpr std::string_view kLetters = "0123456789abcf:.[],% \"";
  for (int i = 0; i < 100'000; ++i) {
    std::string field;
    for (std::int64_t left = chance.up_to(24); left > 0; --left)
      field +=
          kLetters[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(kLetters.size()) - 1))];
    ClientAddress client({});
    client.take(field);
    ASSERT_EQ(client.outcome() == Outcome::found, is_address(client.text())) << field;
  }
}

}  // namespace
}  // namespace weir::core
