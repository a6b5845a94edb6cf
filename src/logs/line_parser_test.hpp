// What the tests of the formats share: a line in, one readable text out.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "logs/line_parser.hpp"

namespace weir::inline v0_1::logs {

constexpr std::int64_t kTestTime = 1795240187LL * 1'000'000'000;  // 2026-11-21T05:49:47Z

inline Wanted wanted(const char* key, const char* cost = "", const char* time = "") {
  Wanted made;
  made.set_key(key);
  made.cost = cost;
  made.time = time;
  return made;
}

inline LineParser parser_of(std::string_view format, const Wanted& wanted, std::string_view line) {
  Layout layout;
  layout.set(format);
  return {layout, wanted, line};
}

// "KEY at SECONDS costs N", or what is wrong.
inline std::string read(LineParser& parser, std::string line, std::size_t parts = 1) {
  LogRecord record{};
  std::string key;
  const std::size_t size = line.size();
  line.append(64, '\0');
  const std::string_view fault = parser.parse(std::string_view(line).substr(0, size), record, key);
  if (!fault.empty()) return std::string(fault);
  return shown(key, parts) + " at +" + std::to_string((record.ns - kTestTime) / 1'000'000) + " ms costs " +
         std::to_string(record.cost);
}

// The values of a key's fields in one line of the format, with '|' between; or what is wrong.
inline std::string fields(std::string_view format, const std::string& line, const char* key) {
  try {
    const Wanted made = wanted(key);
    LineParser parser = parser_of(format, made, line);
    std::string text = line + std::string(64, '\0');
    LogRecord record{};
    std::string read_key;
    const std::string_view fault =
        parser.parse(std::string_view(text).substr(0, line.size()), record, read_key);
    if (!fault.empty()) return std::string(fault);
    if (made.key.size() < 2) return read_key;
    std::string all;
    for (const std::string_view value : values_of(read_key, made.key.size()))
      all += (all.empty() ? "" : "|") + std::string(value);
    return all;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// The message of what `act` throws.
template <class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace weir::logs
