// /v1/gate/PROFILE: what gateways ask for each request of their clients. 200, which is the one status that
// all of them take for yes: it may pass; the profile's deny status: it may not; 400, 401, 404: the gateway is
// not set up right; 503 only when nobody could decide.
//
// The thread of its loop. Everything that comes is a stranger's word unless the profile says otherwise
// (gate_request.hpp). Not for: how a gateway is set up (docs/gateways.md).
#pragma once

#include <string_view>

#include "http/exchange.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {

constexpr std::string_view kGate = "/v1/gate/";

void run_gate(const Message& message, Exchange& exchange);

}  // namespace weir::http
