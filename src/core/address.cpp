#include "core/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace weir::core {
namespace {

bool is_ipv4(std::string_view text) {
  int parts = 1;
  int digits = 0;
  int value = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0 || ++parts > 4) return false;
      digits = value = 0;
    } else if (c >= '0' && c <= '9') {
      // Some programs read a leading zero as octal, others as decimal: not an address.
      if (digits > 0 && value == 0) return false;
      value = value * 10 + (c - '0');
      if (++digits > 3 || value > 255) return false;
    } else {
      return false;
    }
  }
  return parts == 4 && digits > 0;
}

using Bytes = std::array<unsigned char, 16>;

bool parse(int family, std::string_view text, Bytes& bytes) {
  std::array<char, INET6_ADDRSTRLEN + 1> terminated{};
  if (text.empty() || text.size() >= terminated.size()) return false;
  std::memcpy(terminated.data(), text.data(), text.size());
  return inet_pton(family, terminated.data(), bytes.data()) == 1;
}

constexpr int size_of(const Address& address) { return address.v4 ? 4 : 16; }

Network network_of(Address address, int bits) {
  for (int i = 0; i < size_of(address); ++i) {
    const int left = std::clamp(bits - i * 8, 0, 8);
    address.bytes[static_cast<std::size_t>(i)] &= static_cast<unsigned char>(0xFF00U >> left);
  }
  return {address, static_cast<std::uint8_t>(bits)};
}

void append(const Network& network, std::string& out) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(network.first.v4 ? AF_INET : AF_INET6, network.first.bytes.data(), text.data(), text.size());
  out += text.data();
  if (network.bits < size_of(network.first) * 8) out += "/" + std::to_string(network.bits);
}

constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

bool is_address(std::string_view text) {
  if (is_ipv4(text)) return true;
  Bytes bytes{};
  return text.find(':') != std::string_view::npos && parse(AF_INET6, text, bytes);
}

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  if (is_ipv4(text)) {
    parse(AF_INET, text, address.bytes);
    address.v4 = true;
    return address;
  }
  if (text.find(':') == std::string_view::npos || !parse(AF_INET6, text, address.bytes)) return std::nullopt;
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    std::copy(address.bytes.begin() + 12, address.bytes.end(), address.bytes.begin());
    std::fill(address.bytes.begin() + 4, address.bytes.end(), static_cast<unsigned char>(0));
    address.v4 = true;
  }
  return address;
}

void append_address(std::string_view text, Prefixes prefixes, std::string& out) {
  const bool as_written = prefixes.v4 == 32 && is_ipv4(text);
  const auto address = as_written ? std::nullopt : parse_address(text);
  if (!address) {
    out += text;
  } else {
    append(network_of(*address, address->v4 ? prefixes.v4 : prefixes.v6), out);
  }
}

bool Network::has(const Address& address) const {
  return address.v4 == first.v4 && network_of(address, bits).first == first;
}

ReadNetwork read_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return {};
  const int most = size_of(*address) * 8;
  if (slash == std::string_view::npos) return {NetworkFault::none, network_of(*address, most)};
  // Of a network within ::ffff:0:0/96 the bits are counted from the front of the IPv6 address.
  const int mapped = address->v4 && text.find(':') != std::string_view::npos ? 96 : 0;
  const std::string_view digits = text.substr(slash + 1);
  int bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (digits.empty() || digits.front() == '-' || end != digits.data() + digits.size()) return {};
  if (digits.size() > 1 && digits.front() == '0') return {};
  if (error != std::errc{} || bits - mapped > most || bits < mapped) return {NetworkFault::bits, {}};
  const Network network = network_of(*address, bits - mapped);
  return {network.first == *address ? NetworkFault::none : NetworkFault::host_bits, network};
}

std::string to_text(const Network& network) {
  std::string text;
  append(network, text);
  return text;
}

}  // namespace weir::core
