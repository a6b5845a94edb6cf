// Logs of one JSON object a line: members by name, members of members, elements of arrays.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

bool fits_json(std::string_view line);
std::unique_ptr<Splitter> make_json(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
