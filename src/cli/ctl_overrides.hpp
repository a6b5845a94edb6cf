// All overrides that are in force at a server, page by page.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/ctl_answer.hpp"

namespace weir::inline v0_1::cli {

// Each as names and values, the oldest first; of one limit, or with an empty one of all. Throws as ask()
// does.
std::vector<CtlAnswer> all_overrides(const ServerFlags& flags, const ServerFlags::Named& server,
                                     const std::string& limit);

}  // namespace weir::cli
