// GET /v1/top: who is denied most, or charged most, of late.
//
// The thread of its loop.
#pragma once

#include "http/exchange.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {

void run_top(const Message& message, Exchange& exchange);

}  // namespace weir::http
