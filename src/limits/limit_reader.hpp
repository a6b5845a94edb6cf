// One limit of the file, as it is written: what it says of others is judged when all have been read
// (limits/judge.hpp).
//
// One thread.
#pragma once

#include "limits/field.hpp"

namespace weir::inline v0_1::limits {

// `field` is the map below the limit's name; all names of limits are known already.
NamedLimit read_limit(Context& context, const std::string& name, const Field& field);

}  // namespace weir::limits
