// The system's time zones: the files of the folder that the environment variable TZDIR names, else of
// /usr/share/zoneinfo.
//
// All of them are read when it is first asked, in some 20 ms, so that nothing waits for a disk afterwards; a
// new database counts from the next start on.
#pragma once

#include "weir/time_zone.hpp"

namespace weir::inline v0_1::core {

// find() throws where the zone's file is broken, too. Without a database it looks again at each call.
const TimeZones& system_time_zones();

}  // namespace weir::core
