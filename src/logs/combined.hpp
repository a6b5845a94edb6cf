// The common and combined formats of Apache and nginx, a virtual host before them, more fields after them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

bool fits_combined(std::string_view line);
std::unique_ptr<Splitter> make_combined(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
