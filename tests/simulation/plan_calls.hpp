// The part of a plan that is about the life of a call (docs/charging.md, docs/slots.md): slots and those who
// stand in line for them, what is charged from outside and taken back, pauses, penalties and windows of the
// calendar. Each on keys of its own, so that the referee can tell to the unit what is promised of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

// Adds about `events` to the plan, in its time until `until`; `next` is the number of the next event.
void add_calls(Plan& plan, Chance chance, std::size_t events, nanoseconds until, std::uint32_t& next);

}  // namespace weir::simulation
