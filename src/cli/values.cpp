#include "cli/values.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "core/duration.hpp"
#include "core/number.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr std::array<Unit, 5> kUnits = {{{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};

std::runtime_error wrong(const std::string& flag, const std::string& text, const std::string& what) {
  return std::runtime_error(flag + ": '" + text + "' " + what);
}

// "64MiB" for "64M", "64MB" and "64 mib": what some programs take for one size and others for another.
std::optional<std::string> rewritten(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string unit;
  for (const char c : text.substr(digits)) {
    if (c != ' ' && c != '\t') unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (digits == 0 || unit.empty()) return std::nullopt;
  for (const Unit& each : kUnits) {
    const std::string letter(each.name.substr(0, 1));
    if (each.shift == 0 ? unit == "B" : unit == letter || unit == letter + "B" || unit == letter + "IB")
      return text.substr(0, digits) + std::string(each.name);
  }
  return std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

core::Rule parse_rule(const std::string& flag, std::string_view text) {
  if (trimmed(text).starts_with("in_flight"))
    throw wrong(
        flag, std::string(text),
        "counts requests that are under way, so it has to be known how long each took: give --in-flight");
  const auto rule = core::Rule::parse(text);
  if (!rule) throw std::runtime_error(flag + ": " + rule.error());
  return *rule;
}

std::size_t parse_bytes(const std::string& flag, const std::string& text, std::size_t least) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view name = digits == text.size() ? "B" : std::string_view(text).substr(digits);
  const auto* const unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& each) { return each.name == name; });
  if (digits == 0 || unit == kUnits.end()) {
    const auto better = rewritten(text);
    throw wrong(flag, text,
                better ? "has to be written " + *better + " (B, KiB, MiB, GiB, TiB)"
                       : "is not a size such as 64MiB or 2GiB (B, KiB, MiB, GiB, TiB)");
  }
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const std::uint64_t machine = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto number = core::parse_integer(std::string_view(text).substr(0, digits));
  if (!number || static_cast<std::uint64_t>(*number) > machine >> unit->shift) {
    throw wrong(flag, text, "is more than this machine has (" + std::to_string(machine >> 20) + "MiB)");
  }
  const std::size_t result = static_cast<std::size_t>(*number) << unit->shift;
  if (result < least)
    throw wrong(flag, text, "is below the minimum (" + std::to_string(least >> 20) + "MiB)");
  return result;
}

std::chrono::nanoseconds parse_time(const std::string& flag, const std::string& text,
                                    std::chrono::nanoseconds least) {
  const auto found = core::parse_duration(text);
  if (!found) throw wrong(flag, text, "is not a time such as 500ms, 60s or 1h");
  if (*found < least) throw wrong(flag, text, "is below the minimum (" + core::to_text(least) + ")");
  return *found;
}

double parse_share(const std::string& flag, const std::string& text) {
  const auto number = text.ends_with('%')
                          ? core::parse_integer(std::string_view(text).substr(0, text.size() - 1))
                          : std::nullopt;
  if (!number || *number < 1 || *number > 100) throw wrong(flag, text, "is not a percentage from 1% to 100%");
  return static_cast<double>(*number) / 100;
}

server::HostPort parse_endpoint(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : core::parse_integer(std::string_view(text).substr(colon + 1));
  if (!port || *port < 0 || *port > 65535 || colon == 0) {
    throw wrong(flag, text, "is not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:6390");
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, static_cast<std::uint16_t>(*port)};
}

server::ListenAddress parse_address(const std::string& flag, const std::string& text) {
  constexpr std::string_view kUnix = "unix:";
  if (!text.starts_with(kUnix)) return {.tcp = parse_endpoint(flag, text), .unix_socket = {}};
  if (text.size() == kUnix.size()) throw wrong(flag, text, "is missing the path of the Unix socket");
  return {.tcp = {}, .unix_socket = text.substr(kUnix.size())};
}

steering::Role take_role(const std::string& flag, std::string& path) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t last = path.rfind('=');
  if (last == std::string::npos || last < name) return steering::Role::admin;
  const auto role = steering::read_role(std::string_view(path).substr(last + 1));
  if (!role)
    throw std::runtime_error(flag + ": '" + path.substr(last + 1) +
                             "' after '=' is not a role: decide, operate or admin");
  path.resize(last);
  return *role;
}

server::ListenAddress parse_capped_address(const std::string& flag, const std::string& text) {
  std::string address = text;
  const steering::Role most = take_role(flag, address);
  server::ListenAddress parsed = parse_address(flag, address);
  parsed.most = most;
  return parsed;
}

}  // namespace weir::cli
