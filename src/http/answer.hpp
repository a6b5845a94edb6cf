// What the API replies once the store has answered: the one place where a decision becomes JSON.
//
// The thread of its loop. Not for: what the gate replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/exchange.hpp"

namespace weir::inline v0_1::http {

// A question's answer, whichever way its limits came.
struct Decided {
  bool allowed = true;
  std::string_view verdict = "allowed";  // or "denied", "never"
  std::int64_t limit = -1;               // -1: no limit applied
  std::int64_t remaining = -1;
  std::optional<std::chrono::nanoseconds> retry_after{};
  std::chrono::nanoseconds reset_after{0};
  std::string_view by{};  // a limit's name; empty: none
};
Decided decided_of(const Exchange& exchange, const Question& question);

// Exchange::answer of the API's paths.
void write_answer(Exchange& exchange);

}  // namespace weir::http
