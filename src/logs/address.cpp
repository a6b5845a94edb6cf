#include "logs/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::logs {
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

void keep(Bytes& bytes, int bits, int size) {
  for (int i = 0; i < size; ++i) {
    const int left = std::clamp(bits - i * 8, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<unsigned char>(0xFF00U >> left);
  }
}

void append(int family, const Bytes& bytes, std::string& out) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, bytes.data(), text.data(), text.size());
  out += text.data();
}

void append_network(int family, Bytes bytes, int bits, int size, std::string& out) {
  keep(bytes, bits, size);
  append(family, bytes, out);
  if (bits < size * 8) out += "/" + std::to_string(bits);
}

}  // namespace

bool is_address(std::string_view text) {
  if (is_ipv4(text)) return true;
  Bytes bytes{};
  return text.find(':') != std::string_view::npos && parse(AF_INET6, text, bytes);
}

void append_address(std::string_view text, Prefixes prefixes, std::string& out) {
  Bytes bytes{};
  if (is_ipv4(text)) {
    if (prefixes.v4 == 32) {
      out += text;
    } else {
      parse(AF_INET, text, bytes);
      append_network(AF_INET, bytes, prefixes.v4, 4, out);
    }
    return;
  }
  if (text.find(':') == std::string_view::npos || !parse(AF_INET6, text, bytes)) {
    out += text;
    return;
  }
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    std::copy(bytes.begin() + 12, bytes.end(), bytes.begin());
    append_network(AF_INET, bytes, prefixes.v4, 4, out);
  } else {
    append_network(AF_INET6, bytes, prefixes.v6, 16, out);
  }
}

}  // namespace weir::logs
