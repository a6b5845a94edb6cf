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

}  // namespace weir::rls
