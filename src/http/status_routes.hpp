// What an operator sees at a glance, over HTTP: what the page of the admin listener shows.
//
// The thread of its loop.
#pragma once

#include "http/exchange.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {

// GET /v1/status?limit=
void run_status(const Message& message, Exchange& exchange);

}  // namespace weir::http
