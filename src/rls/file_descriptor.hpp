// A descriptor by a domain of weir's own limits file: one request, whose entries are attributes.
//
// The thread of its loop. Not for: the answer (batch.cpp, status.cpp).
#pragma once

#include <chrono>

#include "limits/file.hpp"
#include "rls/request.hpp"
#include "rls/rls_loop.hpp"
#include "service/asking.hpp"

namespace weir::inline v0_1::rls {

// Adds its questions, one or more, to what is asked; not when something is wrong. The loop's request has it.
Wrong ask_by_file(RlsLoop& loop, service::Asking& asking, const AskedDescriptor& descriptor,
                  const limits::RlsDomain& domain, std::chrono::nanoseconds patience);

// Adds the question that says which limits it meets, for the caller to look at and drop; none where it meets
// nothing, or is denied whatever is left.
Wrong match_by_file(RlsLoop& loop, service::Asking& asking, const AskedDescriptor& descriptor,
                    const limits::RlsDomain& domain, bool& denied);

}  // namespace weir::rls
