// HAProxy's `option httplog` and `option tcplog`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

bool fits_haproxy(std::string_view line);
std::unique_ptr<Splitter> make_haproxy(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
