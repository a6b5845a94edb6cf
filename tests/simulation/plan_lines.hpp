// The part of a plan that is about those who stand in line (docs/waiting.md): acquires that are settled for
// less than they were charged, on keys that are busy, each stage on keys of its own: one rate, two rates, or
// a rate and slots, which some ask for together and some alone. Beside them, on some, checks, reservations
// that are told a moment ahead or given back, pauses, and clients that go away while they wait.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

// Adds about `events` to the plan, in its time until `until`; `next` is the number of the next event.
void add_lines(Plan& plan, Chance chance, std::size_t events, nanoseconds until, std::uint32_t& next);

}  // namespace weir::simulation
