// What servers that share a Redis add up there of the usage of keys: one hash for each key, which ends by
// itself.
//
// Its fields: for each window bWINDOW and pWINDOW, when the latest period and the one before it began, and
// uWINDOW:BEGAN, the units; H, the latest hour since 1970, and hHOUR, the units of each of 24.
//
// Pure, any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "resp/value.hpp"
#include "steering/usage.hpp"
#include "steering/usage_book.hpp"

namespace weir::inline v0_1::server {

// The same for every server that has the limit.
std::string usage_key(std::string_view prefix, const steering::Booking& booking);

void append_add_usage(std::string& out, std::string_view key, const steering::Booking& booking);
void append_find_usage(std::string& out, std::string_view key);
// Of the answer to that.
steering::Usage read_usage(const resp::Value& answer, const std::vector<steering::UsageWindow>& windows,
                           std::chrono::nanoseconds utc);

}  // namespace weir::server
