// Internet addresses: as keys, in one spelling or as the network that they are in; and whether one is in a
// network.
//
// A mapped address, ::ffff:192.0.2.1, is the IPv4 address everywhere, by range and not by notation. Pure
// functions, any thread. Not for: names of hosts; as a key such a text is kept unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// How many bits of an address are kept; 32 and 128 keep all.
struct Prefixes {
  int v4 = 32;
  int v6 = 128;
};

bool is_address(std::string_view text);

// Appends the address in its canonical spelling (RFC 5952), or its network as "192.0.2.0/24".
void append_address(std::string_view text, Prefixes prefixes, std::string& out);

struct Address {
  std::array<std::uint8_t, 16> bytes{};  // of IPv4 the first four
  bool v4 = false;

  friend bool operator==(const Address&, const Address&) = default;
};

std::optional<Address> parse_address(std::string_view text);
// Of a network that the internet does not reach: private, of this machine, of a link, of a carrier.
bool is_private(const Address& address);

// The addresses of one kind that begin with the same bits.
struct Network {
  Address first;          // its other bits are 0
  std::uint8_t bits = 0;  // at most 32 or 128

  bool has(const Address& address) const;
  friend bool operator==(const Network&, const Network&) = default;
};

enum class NetworkFault : std::uint8_t {
  none,
  not_a_network,  // it does not begin with an address, or no number follows the '/'
  bits,           // there are not that many
  host_bits,      // bits beyond the network's are not 0; `network` is the one that has the address
};
struct ReadNetwork {
  NetworkFault fault = NetworkFault::not_a_network;
  Network network{};
};

// "192.0.2.0/24", "2001:db8::/32", or an address: a network of one.
ReadNetwork read_network(std::string_view text);

std::string to_text(const Network& network);

}  // namespace weir::core
