// A moment as text for people and for files.
//
// Pure, any thread. Not for: reading one.
#pragma once

#include <cstdint>
#include <string>

namespace weir::inline v0_1::core {

// "2026-11-21T05:49:47Z", of nanoseconds since 1970: whole seconds, rounded down.
std::string utc_text(std::int64_t ns);
// "2026-11-21T05:49:47.123Z": whole milliseconds, rounded down.
std::string utc_ms_text(std::int64_t ns);
void append_utc_text(std::string& out, std::int64_t ns);

}  // namespace weir::core
