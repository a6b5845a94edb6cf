// An event as people and programs are told of it: one line of JSON.
//
// Pure, any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "steering/event.hpp"

namespace weir::inline v0_1::steering {

// With its end. `now` is of the wall clock; `server` is the name of this one.
std::string event_line(const OperatorEvent& event, std::chrono::nanoseconds now, std::string_view server);

}  // namespace weir::steering
