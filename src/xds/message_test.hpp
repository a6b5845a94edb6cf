// Messages of xDS as a server writes them, for tests.
#pragma once

#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "xds/rate_limit_config.hpp"

namespace weir::inline v0_1::xds {

inline std::string bytes(const std::function<void(protozero::pbf_writer&)>& write) {
  std::string out;
  protozero::pbf_writer to(out);
  write(to);
  return out;
}

inline std::string policy(int unit, std::uint32_t count, const std::string& name = "",
                          const std::vector<std::string>& replaces = {}) {
  return bytes([&](auto& to) {
    to.add_enum(1, unit);
    to.add_uint32(2, count);
    if (!name.empty()) to.add_string(4, name);
    for (const std::string& each : replaces)
      to.add_message(5, bytes([&](auto& of) { of.add_string(1, each); }));
  });
}

inline std::string value_of(double number) {
  return bytes([&](auto& to) { to.add_double(2, number); });
}
inline std::string value_of(const char* text) {
  return bytes([&](auto& to) { to.add_string(3, text); });
}
// A field of a Struct.
inline std::string entry(const std::string& name, const std::string& value) {
  return bytes([&](auto& to) {
    to.add_message(1, bytes([&](auto& of) {
                     of.add_string(1, name);
                     of.add_message(2, value);
                   }));
  });
}

inline std::string config(const std::string& name, const std::string& domain,
                          const std::vector<std::string>& descriptors) {
  return bytes([&](auto& to) {
    if (!name.empty()) to.add_string(1, name);
    to.add_string(2, domain);
    for (const std::string& each : descriptors) to.add_message(3, each);
  });
}

inline std::string response(const std::string& version, const std::string& nonce,
                            const std::vector<std::string>& resources,
                            std::string_view type_url = kRateLimitConfig,
                            std::string_view of_each = kRateLimitConfig) {
  return bytes([&](auto& to) {
    to.add_string(1, version);
    for (const std::string& each : resources)
      to.add_message(2, bytes([&](auto& of) {
                       of.add_string(1, of_each.data(), of_each.size());
                       of.add_string(2, each);
                     }));
    to.add_string(4, type_url.data(), type_url.size());
    to.add_string(5, nonce);
  });
}

}  // namespace weir::xds
