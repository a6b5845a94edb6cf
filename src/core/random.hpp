// Keys that nobody can guess, and where they come from.
//
// Any thread. Not for: chance in tests, which is to be repeated.
#pragma once

#include <functional>

#include "core/siphash.hpp"

namespace weir::inline v0_1::core {

// From the operating system's generator.
HashKey random_key();

// Handed in where something is to be unguessable, so that a test can repeat what happened.
using Random = std::function<HashKey()>;

}  // namespace weir::core
