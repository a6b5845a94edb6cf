// One line of the log, as text or as JSON.
//
// Pure, any thread. What is not text is escaped (core/printable.hpp), so that one event is one line and a
// line of JSON is always valid.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace weir::inline v0_1::server {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// More about an event than its message says in words: for programs that read the log.
struct LogField {
  std::string_view name;
  std::variant<std::uint64_t, std::string_view> value;
};

struct LogLine {
  std::chrono::system_clock::time_point time;
  LogLevel level;
  std::string_view message;
  std::span<const LogField> fields{};
};

// "2026-11-21T19:04:00.982+01:00": of RFC 3339, in the zone of this machine; Z in that of Greenwich.
std::string log_time(std::chrono::system_clock::time_point time);

// "[2026-11-21T19:04:00.982Z] [warning] what happened". The fields are left out: the message says them.
std::string text_line(const LogLine& line, bool colour);
// {"time":"2026-11-21T19:04:00.982Z","level":"warning","message":"what happened"}
std::string json_line(const LogLine& line);

}  // namespace weir::server
