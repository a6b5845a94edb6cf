// What the log says of each notice (core/notices.hpp). Any thread.
#pragma once

#include "core/notices.hpp"

namespace weir::inline v0_1::server {

void write_notice(const core::Notices::Report& told);

}  // namespace weir::server
