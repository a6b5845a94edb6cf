// What the audit and events say of files that are read again.
//
// Any thread; what is handed in must outlive the files.
#pragma once

#include <functional>

#include "service/files_in_force.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::server {

// Each change of the limits file is a line of the audit: what differs. And each that is refused an event,
// told once for each reason.
void tell_changes(service::Service& service);

}  // namespace weir::server
