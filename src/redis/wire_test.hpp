// For tests: the bytes that clients and Redis send each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// One command off the front of `wire`.
inline std::vector<std::string> take_command(std::string& wire) {
  std::size_t at = 1;
  const auto number = [&] {
    const std::size_t end = wire.find("\r\n", at);
    const std::size_t value = std::stoul(wire.substr(at, end - at));
    at = end + 2;
    return value;
  };
  std::vector<std::string> words(number());
  for (std::string& word : words) {
    ++at;
    const std::size_t size = number();
    word = wire.substr(at, size);
    at += size + 2;
  }
  wire.erase(0, at);
  return words;
}

}  // namespace weir::redis
