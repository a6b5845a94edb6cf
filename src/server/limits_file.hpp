// The limits file of a server: opened at the start, and read again when it changes.
//
// The main thread; what it makes may be used by any.
#pragma once

#include <memory>

#include "server/settings.hpp"
#include "service/limits_in_force.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::server {

// Null without a limits file. Throws std::runtime_error with all that is wrong with it, a line each.
std::unique_ptr<service::LimitsInForce> open_limits(const Settings& settings,
                                                    const service::Service& service);

}  // namespace weir::server
