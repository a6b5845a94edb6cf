// The script that charges what happened outside (charge.lua): the bytes that ask it, and what its answer
// means.
//
// As script.hpp has it: the answer brings each state as it was, and what it came to is worked out here, by
// src/core. Pure functions, any thread.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/overdraft.hpp"
#include "redis/script.hpp"
#include "resp/value.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::redis {

// One limit of a request. Without `outside` it is charged its cost where it has room, as a guarantee is.
struct ScriptCharge {
  ScriptCheck ask;
  std::optional<Outside> outside{};
  // Of all of a call or of none: those that are over leave the others free (store::OthersFree), and it is
  // over when that many units beyond its own do not fit.
  std::optional<int> beyond{};
};

// The script's text and its name.
std::string_view charge_script();
const std::string& charge_sha();

// Appends the EVALSHA that charges all limits of one request at one moment. Keys are names in Redis, and in a
// cluster share a slot. `now` is as in append_check().
void append_charge(std::string& out, std::span<const ScriptCharge> charges,
                   std::optional<std::chrono::nanoseconds> now = {});

// What each owed before, when those before it had been charged, and when that was. Otherwise why not, as
// below.
struct ChargedStates {
  std::chrono::nanoseconds now{0};
  std::array<KeyState, store::kMostChecks> before{};  // of a ledger: after it
};
// As core::overdraw() tells it, of a key that was in that state before.
core::Overdrawn overdrawn(const core::Rule& rule, const KeyState& state, std::chrono::nanoseconds now,
                          const Outside& outside);
std::optional<std::string> read_states(const resp::Value& reply, std::span<const ScriptCharge> charges,
                                       ChargedStates& into);

// Fills, for each, a decision as of a look after it, and what it came to; a guarantee has only the first.
// Otherwise why not: the error that Redis answered, or a sentence.
std::optional<std::string> read_charge(const resp::Value& reply, std::span<const ScriptCharge> charges,
                                       std::span<Decision> decisions, std::span<Charged> told);

}  // namespace weir::redis
