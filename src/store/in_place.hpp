// Several checks of one request, charged all or none, where each key has an entry or finds room as the table
// lies. That is nearly every request, and mostly the buckets that are the keys' homes are all that is locked,
// as for one check.
//
// Any thread. Not for: every other request, which is left as it is for JointCheck (all_or_none_check.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "store/segments.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {

// Whether they were charged; nothing when it is not that simple, and then nothing was. At most kMostChecks,
// each with its hash.
std::optional<bool> check_in_place(const Segments& segments, std::span<Check> checks,
                                   std::chrono::nanoseconds arrived, std::chrono::nanoseconds now);

}  // namespace weir::store
