// What the texts of a limits file mean: names, numbers, shares, times. Each is the value, or a sentence that
// says what is allowed.
//
// Pure, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

template <class AttributeValue>
using Read = tl::expected<AttributeValue, std::string>;

// Of limits, classes and lists: [a-z][a-z0-9_-]{0,63}. Empty, or what is wrong.
std::string wrong_name(std::string_view text);
// Of attributes: [a-z][a-z0-9_.-]{0,63}.
std::string wrong_attribute(std::string_view text);

Read<std::uint64_t> read_integer(std::string_view text, std::uint64_t least, std::uint64_t most);
Read<bool> read_switch(std::string_view text);  // true, false
// "20%", "12.5%": with at most four decimals.
Read<Share> read_share(std::string_view text);
// "1s", "250ms": not below 0.
Read<std::chrono::nanoseconds> read_time_span(std::string_view text);
// "2026-12-01", which is its midnight in UTC, or RFC 3339: "2026-12-01T12:00:00Z",
// "2026-12-01T12:00:00+01:00".
Read<Time> read_time(std::string_view text);

std::string to_text(Share share);
// "1.5" of 1500.
std::string thousandths(std::uint32_t number);
// RFC 3339, in UTC, without decimals: "2026-12-01T00:00:00Z".
std::string to_text(Time time);

}  // namespace weir::limits
