// The field Prefer (RFC 7240), of which one preference is known: `wait`, how many seconds a client would wait
// for its answer.
//
// Pure, any thread. Not for: what is done about it (json.cpp).
#pragma once

#include <chrono>
#include <optional>

#include "http/message.hpp"

namespace weir::inline v0_1::http {

// Of the first `wait` that the message has. Nothing: there is none, or it is not a number of seconds, which
// is then as if it were not there.
std::optional<std::chrono::seconds> preferred_wait(const Message& message);

}  // namespace weir::http
