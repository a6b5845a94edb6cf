// What the programs that write logs call the fields that people ask for (docs/replay.md, "The lines").
//
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// The names under which a field is looked for, the one that was asked for first. "ip" and "" are the client,
// "time" is the time; "xff[0]" looks for each name of xff with [0] after it.
std::vector<std::string> names_of(std::string_view asked);

}  // namespace weir::logs
