// Internet addresses as keys: one spelling for each address, or the network that it is in.
//
// Pure functions, any thread. Text that is not an address (a host name) is kept unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::logs {

// How many bits of an address are kept; 32 and 128 keep all.
struct Prefixes {
  int v4 = 32;
  int v6 = 128;
};

bool is_address(std::string_view text);

// Appends the address in its canonical spelling (RFC 5952; a mapped one, ::ffff:192.0.2.1, as IPv4: by range,
// not by notation), or its network as "192.0.2.0/24".
void append_address(std::string_view text, Prefixes prefixes, std::string& out);

}  // namespace weir::logs
