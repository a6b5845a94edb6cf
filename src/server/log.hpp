// The log of this process, on standard error: its level, its form, and where its lines go.
//
// Any thread; open_log() before there are others. Rooms outside this folder tell through core/notices.hpp; in
// here spdlog's functions write to it too.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/log_line.hpp"

namespace weir::inline v0_1::server {

struct LogOptions {
  std::string level = "info";  // debug, info, warn, error or off
  bool json = false;
};

// Until it is called, lines go where spdlog's go.
void open_log(const LogOptions& options);
// Waits until what was logged is written, at most this long.
void flush_log(std::chrono::milliseconds longest);

void log(LogLevel level, std::string_view message, std::span<const LogField> fields = {});
// Lines that were dropped because their reader did not take them.
std::uint64_t log_lines_dropped();

}  // namespace weir::server
