// What the system says of the call that has just failed.
//
// Any thread.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace weir::inline v0_1::server {

inline std::string last_error() { return std::generic_category().message(errno); }

}  // namespace weir::server
