// The dynamic metadata of an answer: what was asked, for Envoy's other filters and its logs, as
// envoyproxy/ratelimit says it.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace weir::inline v0_1::rls {

// A google.protobuf.Struct; `request`: the message that was asked. `by_fallback`: some of it was decided
// without the store, which envoyproxy/ratelimit does not say.
std::string metadata_of(std::string_view request, bool by_fallback);

}  // namespace weir::rls
