// What operators have changed, over HTTP, and what they are about to.
//
// The thread of its loop.
#pragma once

#include <optional>

#include "http/exchange.hpp"
#include "http/message.hpp"
#include "steering/change.hpp"

namespace weir::inline v0_1::http {

// GET /v1/audit?count=
void run_audit(const Message& message, Exchange& exchange);

// What the body of a reset is about to forget; nothing: it will be refused.
std::optional<steering::OperatorChange> change_of_reset(const Message& message, Exchange& exchange);

}  // namespace weir::http
