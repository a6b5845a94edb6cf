// A resource of xDS that Envoy's rate limit service is configured by, ratelimit.config.ratelimit.v3's
// RateLimitConfig: its protobuf to the domain that the same YAML would say.
//
// Pure, any thread. Not for: what the domain means, and what is wrong with it (limits/descriptors.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "limits/domain.hpp"

namespace weir::inline v0_1::xds {

constexpr std::string_view kRateLimitConfig =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

// Descriptors, names and values of metadata of one resource; more are refused. Each may be two bytes in the
// message, and some hundred here.
constexpr std::size_t kMostParts = 200'000;

// The domain's `file` is the resource's name. Else what is wrong with the message, on one line.
tl::expected<limits::Domain, std::string> read_rate_limit_config(std::string_view message);

}  // namespace weir::xds
