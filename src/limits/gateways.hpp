// How gateways ask: the part `gateways:` of the file.
//
// One thread. Not for: answering them (src/http).
#pragma once

#include "limits/field.hpp"

namespace weir::inline v0_1::limits {

// Fills File::gateways.
void read_gateways(Context& context, const Field& gateways);

}  // namespace weir::limits
