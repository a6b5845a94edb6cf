// For tests: the bytes that clients and Redis send each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::redis {

using Strings = std::vector<std::string>;

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

inline std::string array(const Strings& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) text += bulk(word);
  return text;
}

// An answer to CLUSTER SLOTS.
struct Range {
  int first, last;
  std::string host;
};
inline std::string slots(const std::vector<Range>& ranges) {
  std::string text = "*" + std::to_string(ranges.size()) + "\r\n";
  for (const Range& range : ranges) {
    text += "*3\r\n:" + std::to_string(range.first) + "\r\n:" + std::to_string(range.last) + "\r\n";
    text += "*3\r\n" + bulk(range.host) + ":6379\r\n" + bulk("id-of-" + range.host);
  }
  return text;
}

// What a Redis answers to the commands of a greeting: `sha` is the script's, `map` the cluster's.
inline std::string answer_to_greeting(const Strings& words, std::string_view sha, const std::string& map) {
  const std::string& name = words[0];
  if (name == "SCRIPT") return bulk(sha);
  if (name == "CONFIG") return array({"maxmemory-policy", "noeviction"});
  if (name == "CLUSTER") return map;
  if (name == "MODULE") return "*0\r\n";
  return name == "PING" ? "+PONG\r\n" : "+OK\r\n";
}

// One command off the front of `wire`.
inline Strings take_command(std::string& wire) {
  std::size_t at = 1;
  const auto number = [&] {
    const std::size_t end = wire.find("\r\n", at);
    const std::size_t value = std::stoul(wire.substr(at, end - at));
    at = end + 2;
    return value;
  };
  Strings words(number());
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
