// An explained check as members of a JSON object.
//
// One thread; it writes to a JsonWriter that outlives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json_writer.hpp"
#include "limits/explain.hpp"

namespace weir::inline v0_1::limits {

inline std::optional<std::int64_t> milliseconds_of(const std::optional<std::chrono::nanoseconds>& time) {
  if (!time) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*time).count();
}

// For describe().
struct ExplainedJson {
  void text(std::string_view name, std::string_view value) { member(name, core::or_null(value)); }
  void line(std::string_view name, std::uint32_t line) { member(name, core::line_or_null(line)); }
  void number(std::string_view name, std::int64_t value) { member(name, core::or_null(value)); }
  void thousandths(std::string_view name, std::uint32_t value) { member(name, value / 1000.0); }
  void time(std::string_view name, const std::optional<std::chrono::nanoseconds>& time) {
    if (!in_milliseconds) return member(name, time);
    member(std::string(name) + "_ms", milliseconds_of(time));
  }
  void flag(std::string_view name, bool value) { member(name, value); }

  template <class Value>
  void member(std::string_view name, const Value& value) {
    json.unknown_name(name);
    json.value(value);
  }

  core::JsonWriter& json;
  bool in_milliseconds = false;  // or seconds
};

}  // namespace weir::limits
