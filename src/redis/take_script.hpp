// The script that takes as many units as there are (take.lua): the bytes that ask it, and what its answer
// means.
//
// As script.hpp has it: the answer brings each state as it was, and the decisions are made of them here, by
// src/core. Pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "redis/script.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

// How many units are asked for, all that a script can count.
struct UnitsAsked {
  std::uint64_t least = 1;
  std::uint64_t most = 1;
  bool looks = false;

  // No more than `most`, which an enforced limit could admit; what `least` is above that is never there.
  static UnitsAsked up_to(std::uint64_t least, std::uint64_t most, bool looks);
};

// The script's text and its name.
std::string_view take_script();
const std::string& take_sha();

// Appends the EVALSHA that takes of all limits of one request at one moment; each ask has the cost of one
// unit. Keys are names in Redis, and all differ; in a cluster they share a slot. `now` is as in
// append_check().
void append_take(std::string& out, std::span<const ScriptCheck> asks, const UnitsAsked& units,
                 std::optional<std::chrono::nanoseconds> now = {});

// How many it has granted, 0 when it denied the least.
tl::expected<std::uint64_t, std::string> read_granted(const resp::Value& reply, const UnitsAsked& units);
// Fills one decision for each ask, which has the cost of the units that were granted, or of the least; or
// why not.
std::optional<std::string> read_take(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                     const UnitsAsked& units, std::span<Decision> decisions);

}  // namespace weir::redis
