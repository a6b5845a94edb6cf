// /v1/overrides: what operators set, see and end.
//
// The thread of its loop.
#pragma once

#include "http/exchange.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {

constexpr std::string_view kOverrides = "/v1/overrides";
constexpr std::string_view kOneOverride = "/v1/overrides/";  // and its number

void run_overrides(const Message& message, Exchange& exchange);
void run_one_override(const Message& message, Exchange& exchange);

}  // namespace weir::http
