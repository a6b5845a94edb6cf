// What the API replies once the store has answered: the one place where a decision becomes JSON.
//
// The thread of its loop. Not for: what the gate replies.
#pragma once

#include "http/exchange.hpp"

namespace weir::inline v0_1::http {

// Exchange::tell of the API's paths.
void tell_answer(Exchange& exchange, const service::Question& question);

}  // namespace weir::http
