// Judges those who stand in line (plan_lines.hpp): their order, how long they wait, and that nobody acts in a
// pause. What they are admitted is part of the promise (referee.cpp).
#pragma once

#include "simulation/history.hpp"
#include "simulation/plan.hpp"
#include "simulation/referee.hpp"

namespace weir::inline v0_1::simulation {

Verdict judge_lines(const Plan& plan, const History& history);

}  // namespace weir::simulation
