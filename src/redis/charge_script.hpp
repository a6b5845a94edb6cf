// The script that charges what happened outside (charge.lua): the bytes that ask it, and what its answer
// means.
//
// As script.hpp has it: the answer brings each state as it was, and what it came to is worked out here, by
// src/core. Pure functions, any thread.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/overdraft.hpp"
#include "redis/script.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

// One limit of a request. Without `outside` it is a guarantee, which is charged its cost where it has room.
struct ScriptCharge {
  ScriptCheck ask;
  std::optional<Outside> outside{};
};

// The script's text and its name.
std::string_view charge_script();
const std::string& charge_sha();

// Appends the EVALSHA that charges all limits of one request at one moment. Keys are names in Redis, and all
// differ; in a cluster they share a slot. `now` is as in append_check().
void append_charge(std::string& out, std::span<const ScriptCharge> charges,
                   std::optional<std::chrono::nanoseconds> now = {});

// Fills, for each, a decision as of a look after it, and what it came to; a guarantee has only the first.
// Otherwise why not: the error that Redis answered, or a sentence.
std::optional<std::string> read_charge(const resp::Value& reply, std::span<const ScriptCharge> charges,
                                       std::span<Decision> decisions, std::span<Charged> told);

}  // namespace weir::redis
