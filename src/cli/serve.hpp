// Running a server to its end, as `weir serve`, `weir ratelimit` and `weir local` do.
#pragma once

#include <functional>

#include "server/settings.hpp"

namespace weir::inline v0_1::cli {

// The exit code. The log is written to its end, also when the start fails; in a log of JSON every line is
// one.
int serve_and_log(const server::Settings& settings, bool json);

// As `weir local` does: calls `ready` when it listens, and prints nothing.
int serve_local(const server::Settings& settings, const std::function<void()>& ready);

}  // namespace weir::cli
