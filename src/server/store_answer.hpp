// What a shared store says to a change of an override, or in words for an operator why it does not: what
// happened, and what to do about it.
//
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "redis/call.hpp"
#include "steering/shared_keeper.hpp"

namespace weir::inline v0_1::server {

// Without a full stop. `key` is where overrides lie.
std::string why_not_stored(redis::Cause cause, std::string_view error, std::string_view key);

tl::expected<steering::SharedKeeper::Answer, std::string> told_of(const redis::Call::Result& result,
                                                                  std::string_view key);

}  // namespace weir::server
