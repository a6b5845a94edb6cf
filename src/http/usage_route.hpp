// POST /v1/usage: how much of a limit that is tracked a key has used.
//
// The thread of its loop.
#pragma once

#include "http/exchange.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {

void run_usage(const Message& message, Exchange& exchange);

}  // namespace weir::http
