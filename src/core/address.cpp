#include "core/address.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/digits.hpp"

namespace weir::inline v0_1::core {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

// Into the first four of `bytes`.
bool parse_v4(std::string_view text, std::uint8_t* bytes) {
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at >= text.size() || text[at++] != '.')) return false;
    const std::size_t begin = at;
    int value = 0;
    for (; at < text.size() && at < begin + 3 && is_digit(text[at]); ++at)
      value = value * 10 + (text[at] - '0');
    // Some programs read a leading zero as octal, others as decimal: not an address.
    if (at == begin || value > 255 || (at > begin + 1 && text[begin] == '0')) return false;
    bytes[part] = static_cast<std::uint8_t>(value);
  }
  return at == text.size();
}

// RFC 4291, 2.2: eight groups, "::" once for one or more that are zero, the last two perhaps as IPv4.
bool parse_v6(std::string_view text, Bytes& bytes) {
  constexpr std::size_t kNowhere = ~std::size_t{0};
  bytes = {};
  std::size_t size = 0;          // of what was read
  std::size_t zeros = kNowhere;  // where "::" is
  std::size_t at = 0;
  if (text.starts_with("::")) {
    zeros = 0;
    at = 2;
  }
  while (at < text.size()) {
    const std::size_t begin = at;
    int group = 0;
    for (int digit = 0; at < text.size() && (digit = hex_digit(text[at])) >= 0; ++at) {
      if (at == begin + 4) return false;
      group = group * 16 + digit;
    }
    if (at < text.size() && text[at] == '.') {
      if (size > 12 || !parse_v4(text.substr(begin), &bytes[size])) return false;
      size += 4;
      break;
    }
    if (at == begin || size == 16) return false;
    bytes[size++] = static_cast<std::uint8_t>(group >> 8);
    bytes[size++] = static_cast<std::uint8_t>(group);
    if (at == text.size()) break;
    if (text[at++] != ':' || at == text.size()) return false;
    if (text[at] != ':') continue;
    if (zeros != kNowhere) return false;
    zeros = size;
    ++at;
  }
  if (zeros == kNowhere) return size == 16;
  if (size == 16) return false;
  const auto gap = bytes.begin() + static_cast<std::ptrdiff_t>(zeros);
  const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(size);
  std::fill(gap, std::copy_backward(gap, end, bytes.end()), std::uint8_t{0});
  return true;
}

constexpr int size_of(const Address& address) { return address.v4 ? 4 : 16; }

Network network_of(Address address, int bits) {
  if (bits < size_of(address) * 8) {
    const auto partly = address.bytes.begin() + bits / 8;
    *partly &= static_cast<std::uint8_t>(0xFF00U >> (bits % 8));
    std::fill(partly + 1, address.bytes.end(), std::uint8_t{0});
  }
  return {address, static_cast<std::uint8_t>(bits)};
}

char* write_v4(const std::uint8_t* bytes, char* out) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) *out++ = '.';
    out = std::to_chars(out, out + 3, bytes[i]).ptr;
  }
  return out;
}

// RFC 5952; what is left of IPv4-compatible addresses has dots, as inet_ntop() writes it.
char* write_v6(const Bytes& bytes, char* out) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = bytes[2 * i] * 256U + bytes[2 * i + 1];
  std::size_t gap = 0;  // the first of the longest rows of two zeros or more
  std::size_t gap_size = 1;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t begin = i;
    while (i < groups.size() && groups[i] == 0) ++i;
    if (i - begin <= gap_size) continue;
    gap = begin;
    gap_size = i - begin;
  }
  if (gap_size == 1) gap = groups.size();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == gap) {
      *out++ = ':';
      i += gap_size;
      if (i == groups.size()) *out++ = ':';
      if (i == groups.size()) break;
    }
    if (i > 0) *out++ = ':';
    if (i == 6 && gap == 0 && gap_size == 6) return write_v4(&bytes[12], out);
    out = std::to_chars(out, out + 4, groups[i], 16).ptr;
  }
  return out;
}

void append(const Network& network, std::string& out) {
  std::array<char, 48> text{};
  char* end = network.first.v4 ? write_v4(network.first.bytes.data(), text.data())
                               : write_v6(network.first.bytes, text.data());
  if (network.bits < size_of(network.first) * 8) {
    *end++ = '/';
    end = std::to_chars(end, text.data() + text.size(), network.bits).ptr;
  }
  out.append(text.data(), end);
}

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

bool is_address(std::string_view text) {
  Bytes bytes{};
  return parse_v4(text, bytes.data()) || parse_v6(text, bytes);
}

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  if (parse_v4(text, address.bytes.data())) {
    address.v4 = true;
    return address;
  }
  if (!parse_v6(text, address.bytes)) return std::nullopt;
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    std::copy(address.bytes.begin() + 12, address.bytes.end(), address.bytes.begin());
    std::fill(address.bytes.begin() + 4, address.bytes.end(), std::uint8_t{0});
    address.v4 = true;
  }
  return address;
}

void append_address(std::string_view text, Prefixes prefixes, std::string& out) {
  const auto address = parse_address(text);
  if (!address) {
    out += text;
  } else {
    append(network_of(*address, address->v4 ? prefixes.v4 : prefixes.v6), out);
  }
}

bool is_private(const Address& address) {
  static const std::array<Network, 10> kPrivate = [] {
    constexpr std::array<std::string_view, 10> kTexts = {
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10",
        "0.0.0.0/8",  "::1",           "fc00::/7",       "fe80::/10"};
    std::array<Network, 10> read;
    for (std::size_t i = 0; i < kTexts.size(); ++i) read[i] = read_network(kTexts[i]).network;
    return read;
  }();
  return std::any_of(kPrivate.begin(), kPrivate.end(),
                     [&address](const Network& each) { return each.has(address); });
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
