// A time zone, as a file of the system's database has it: TZif, RFC 9636, of any version.
//
// Any thread. Not for: files that count leap seconds (those of the folder "right"), which UTC here does not.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "weir/time_zone.hpp"

namespace weir::inline v0_1::core {

// Whether it begins as such a file does.
bool looks_like_time_zone(std::string_view bytes);

// Of all bytes of a file, or why they are not a time zone: "it is cut off".
tl::expected<std::unique_ptr<const TimeZone>, std::string> read_time_zone(std::string_view bytes);

}  // namespace weir::core
