// weir ctl overrides --restore: what was written down of overrides, set again after a loss.
//
// One thread.
#pragma once

#include <string>

#include "cli/ctl_answer.hpp"

namespace weir::inline v0_1::cli {

// A line of the file is an override when it is an object of JSON, as `weir ctl overrides --json` prints it,
// or a comment of one, as `weir ctl export` does; all others are passed over. What has the words of one that
// is in force stays as it is, so that it can be run again. Throws RefusedByServer when the server takes some
// of them not, and std::runtime_error, before any is set, when the file has none or one that cannot be read.
void restore_overrides(const ServerFlags& flags, const std::string& path, bool yes, bool json);

}  // namespace weir::cli
