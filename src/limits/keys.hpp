// The keys of a limits file: the only list of them. What an unknown key is compared with, and what the schema
// for editors has to say too (tests/limits).
#pragma once

#include <string>
#include <vector>

namespace weir::inline v0_1::limits::keys {

using Words = std::vector<std::string>;

inline const Words kTop = {"version", "attributes", "classes", "ceiling",  "hash_tag",
                           "lists",   "limits",     "routes",  "gateways", "answers"};
inline const Words kList = {"file"};
inline const Words kLimit = {"by",      "group_ip",       "rate",      "within",   "leave",
                             "reserve", "guarantee",      "overrides", "deny",     "allow",
                             "cost",    "required",       "shadow",    "show",     "id",
                             "hold",    "on_store_error", "when_full", "max_wait", "lease"};
inline const Words kGroupIp = {"v4", "v6"};
inline const Words kOverride = {"when", "until", "reason", "rate", "leave", "reserve", "guarantee", "cost"};
inline const Words kCost = {"from"};
inline const Words kCostCase = {"when", "cost"};
inline const Words kHold = {"estimate", "ttl", "at_most"};
inline const Words kLease = {"units", "for"};
inline const Words kRoute = {"when", "class", "limits"};
inline const Words kGateway = {"from",  "trusted",     "attributes", "address",
                               "token", "deny_status", "on_missing", "odd_paths"};
inline const Words kToken = {"header", "env"};
inline const Words kAnswers = {"status", "headers"};

// What `answers.headers` may name.
inline const Words kHeaders = {"retry-after",       "ratelimit-11", "draft-06", "x-ratelimit",
                               "x-ratelimit-epoch", "draft-03",     "off"};

}  // namespace weir::limits::keys
