#include "logs/likely_keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/address.hpp"
#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr int kMostProxies = 4;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool contains_any(const std::string& name, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&name](const char* part) { return name.find(part) != std::string::npos; });
}

// Networks that nobody meets on the way: a client from there is one's own, or is a proxy.
bool is_own(const core::Address& address) {
  const bool begins_with_0 = address.v4 && address.bytes[0] == 0;  // as versions do
  return core::is_private(address) && !begins_with_0;
}

std::vector<std::string> elements(const std::vector<std::string>& values, int index) {
  std::vector<std::string> out;
  for (const std::string& each : values) {
    const std::string_view element = element_of(each, index);
    if (element.data() != nullptr && is_an_address(element)) out.emplace_back(without_port(element));
  }
  return out;
}

std::size_t different(const std::vector<std::string>& values) {
  return std::set<std::string>(values.begin(), values.end()).size();
}

// 4.2.0.1: four small numbers, as hardly any network has them where many clients are. Nobody's host ends with
// three zeros: 131.0.0.0.
bool may_be_a_version(std::string_view text) {
  constexpr int kSmall = 32;
  const auto address = core::parse_address(without_port(text));
  if (!address || !address->v4 || is_own(*address)) return false;
  const auto* const begin = address->bytes.begin();
  return std::all_of(begin, begin + 4, [](std::uint8_t each) { return each < kSmall; }) ||
         (address->bytes[1] == 0 && address->bytes[2] == 0 && address->bytes[3] == 0);
}

// By its name, or by its values where the name says nothing of addresses.
bool has_versions(const std::string& name, const std::vector<std::string>& values) {
  constexpr std::array kVersions{"version", "browser", "agent", "build", "release", "firmware"};
  constexpr std::array kAddresses{"ip", "addr", "host", "client", "remote", "peer", "from", "src", "source"};
  if (contains_any(name, kVersions) || name == "ver" || name.ends_with("_ver")) return true;
  if (contains_any(name, kAddresses)) return false;
  return std::all_of(values.begin(), values.end(), may_be_a_version);
}

}  // namespace

int rank_of(std::string_view name, const std::vector<std::string>& addresses) {
  constexpr std::array kServers{"server", "upstream", "backend", "target", "dest", "dst",
                                "local",  "origin",   "node",    "listen", "s-ip", "resp",
                                "proxy",  "instance", "pod",     "host_ip"};
  constexpr std::array kClients{"client",  "remote", "src",     "source", "peer",
                                "forward", "fwd",    "real",    "viewer", "user",
                                "caller",  "from",   "visitor", "xff",    "connecting"};
  const std::string called = lower(name);
  const bool server = contains_any(called, kServers);
  const bool client = contains_any(called, kClients);
  const auto own =
      static_cast<std::size_t>(std::count_if(addresses.begin(), addresses.end(), [](const std::string& each) {
        const auto address = core::parse_address(without_port(each));
        return !address || is_own(*address);
      }));
  if (addresses.empty() || has_versions(called, addresses)) return kNoAddresses;
  return (server && !client ? 8 : 0) + (own * 2 > addresses.size() ? 4 : 0) +
         (different(addresses) == 1 && addresses.size() > 1 ? 2 : 0) + (client ? 0 : 1);
}

Candidate candidate_of(const std::string& name, const std::vector<std::string>& values) {
  const bool list = name == "xff" || std::any_of(values.begin(), values.end(), [](const std::string& each) {
                      return each.find(',') != std::string::npos;
                    });
  Candidate best{name, kNoAddresses, different(values)};
  for (int index = -1; index >= (list ? -kMostProxies : -1); --index) {
    const std::vector<std::string> found = elements(values, index);
    if (found.size() * 2 < values.size()) break;
    const int rank = rank_of(name, found);
    if (rank >= best.rank) continue;
    best = {list ? name + "[" + std::to_string(index) + "]" : name, rank, different(found)};
  }
  if (list || best.rank == kNoAddresses) return best;
  const bool ports = std::any_of(values.begin(), values.end(), [](const std::string& each) {
    return without_port(each).size() != each.size();
  });
  if (ports) best.name += "/32/128";
  return best;
}

bool is_of_something_else(std::string_view name) {
  constexpr std::array kParts{"creat", "birth", "expir", "modif", "update",
                              "valid", "last",  "since", "until", "due"};
  return contains_any(lower(name), kParts);
}

bool names_somebody(std::string name) {
  constexpr std::array kParts{"api-key",  "api_key",  "apikey", "tenant", "account",
                              "customer", "consumer", "user",   "token",  "authorization"};
  name = lower(name);
  return contains_any(name, kParts) && name.find("agent") == std::string::npos;
}

}  // namespace weir::logs
