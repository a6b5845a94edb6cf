// Judges what clients saw by what weir's documentation promises, and by nothing that weir itself says.
//
// A decision was made between the arrival of its request at the server's port and the departure of the reply,
// and what was granted acts then, or after the wait that the reply names. So of each act an interval is known
// in which its moment lies; whatever lies whole within a span was admitted in that span.
//
// Pure. Not for: making things happen (world.hpp).
#pragma once

#include <string>

#include "simulation/history.hpp"
#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

struct Verdict {
  std::string check{};  // the name of what does not hold; empty: all holds
  std::string what{};
  bool holds() const { return check.empty(); }
};

Verdict judge(const Plan& plan, const History& history);

}  // namespace weir::simulation
