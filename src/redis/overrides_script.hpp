// The script that keeps what operators set for all servers of a store (overrides.lua): the bytes that ask it.
//
// Pure functions, any thread. Not for: when it is asked (steering/shared_keeper.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir::inline v0_1::redis {

std::string_view overrides_script();

// "weir:{weir}:overrides", where the prefix is "weir:".
std::string overrides_key(std::string_view prefix);

// `words` are what overrides.lua takes.
std::string overrides_command(std::string_view key, std::span<const std::string> words);

}  // namespace weir::redis
