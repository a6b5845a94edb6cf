// Judges the part of a plan that is about the life of a call (plan_calls.hpp): slots, pauses, penalties and
// windows of the calendar. What is charged from outside or taken back is part of the promise (referee.cpp).
#pragma once

#include "simulation/history.hpp"
#include "simulation/plan.hpp"
#include "simulation/referee.hpp"

namespace weir::inline v0_1::simulation {

Verdict judge_calls(const Plan& plan, const History& history);

}  // namespace weir::simulation
