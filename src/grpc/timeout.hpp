// The header grpc-timeout. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weir::inline v0_1::grpc {

// "20m" is 20 milliseconds. Nothing: it is not a timeout; what is longer than a nanosecond count can say is
// cut to 100 years.
std::optional<std::chrono::nanoseconds> read_timeout(std::string_view text);

}  // namespace weir::grpc
