// Which weir this is: "weir 0.1.0 (commit 0123456789ab)". The build writes its source
// (cmake/weir_commit.cmake).
#pragma once

namespace weir::inline v0_1::cli {

extern const char* const kVersionLine;
extern const char* const kCommit;  // "0123456789ab", "0123456789ab, modified" or "unknown"

}  // namespace weir::cli
