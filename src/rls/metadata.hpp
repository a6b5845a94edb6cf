// The dynamic metadata of an answer: what was asked, for Envoy's other filters and its logs, as
// envoyproxy/ratelimit says it.
//
// Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "limits/domain.hpp"

namespace weir::inline v0_1::rls {

// A google.protobuf.Struct; `request`: the message that was asked; `passed`: what the limits say that let it
// pass, merged member by member; where a member is not a map, the first that has it says it. `by_fallback`:
// some of it was decided without the store, which envoyproxy/ratelimit does not say.
std::string metadata_of(std::string_view request, std::span<const limits::Metadata* const> passed,
                        bool by_fallback);

}  // namespace weir::rls
