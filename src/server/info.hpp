// What INFO says of the server, section by section.
//
// Any thread, but `own` is that of the caller's event loop.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/service.hpp"

namespace weir::server {

// Clients switch features on by this number; it is the release whose commands ours are compared with.
inline constexpr std::string_view kRedisVersion = "7.0.15";

struct Info {
  std::string text;
  bool counted_keys = false;  // which takes long
};

// `sections` are as Redis names them, in lower case; without any, all are told. `own`, which may be null, is
// whose error is told when a store does not answer.
Info tell_info(const Service& service, std::span<const std::string> sections, const redis::SharedStore* own);

}  // namespace weir::server
