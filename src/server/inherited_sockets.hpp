// Listening sockets of systemd: LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, as sd_listen_fds_with_names(3)
// says.
//
// Before threads are started.
#pragma once

#include <functional>
#include <string>

#include "server/settings.hpp"

namespace weir::inline v0_1::server {

// The settings with those sockets, by their names: resp, http, rls, admin. Takes the variables out of the
// environment. `is_given`: whether that flag was, which then says the same twice. Throws std::runtime_error
// of one line.
Settings with_inherited_sockets(Settings settings,
                                const std::function<bool(const std::string& flag)>& is_given);

}  // namespace weir::server
