// Running a server to its end, as `weir serve` and `weir ratelimit` do.
#pragma once

#include "server/settings.hpp"

namespace weir::inline v0_1::cli {

// The exit code. The log is written to its end, also when the start fails; in a log of JSON every line is
// one.
int serve_and_log(const server::Settings& settings, bool json);

}  // namespace weir::cli
