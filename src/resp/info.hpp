// INFO: the table of metrics as Redis' clients know it.
//
// Pure but for what the readers of the metrics read; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "service/metrics.hpp"

namespace weir::inline v0_1::resp {

// Clients switch features on by this number; it is the release whose commands ours are compared with.
inline constexpr std::string_view kRedisVersion = "7.0.15";

struct Info {
  std::string text;
  bool slow = false;  // something was read that takes long
};

// `sections` are named as Redis names them, in lower case; without any, all are told.
Info tell_info(std::span<const service::Metric> metrics, std::span<const std::string> sections);

}  // namespace weir::resp
