// The keys of a limits file, each with what there is to say of it: what an unknown key is compared with, what
// the schema for editors says, and the tables of docs/limits.md, which file_keys_test.cpp compares and
// writes. Those of a limit and of its overrides are in limits/limit_keys.cpp, with how they are read.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/file_rule.hpp"

namespace weir::inline v0_1::limits {

struct FileKey {
  std::string_view name;
  FileRule rule = FileRule::form;  // that a value breaks which means nothing
  // Of the tables: what holds where the key is not written, what it does, a value. Empty: it stands in none.
  std::string_view unsaid{};
  std::string_view meaning{};
  std::string_view example{};
  std::string_view form{};  // in the schema; '@' stands for the keys of a map
};
using FileKeys = std::span<const FileKey>;

inline std::vector<std::string> names_of(FileKeys keys) {
  std::vector<std::string> names;
  for (const FileKey& each : keys) names.emplace_back(each.name);
  return names;
}
inline const FileKey* find_key(FileKeys keys, std::string_view name) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [name](const FileKey& each) { return each.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

namespace keys {

inline constexpr std::array kTop = {
    FileKey{.name = "version",
            .unsaid = "required",
            .meaning = "`1`",
            .form = R"({ "enum": [1, "1"], "description": "Always 1." })"},
    FileKey{.name = "attributes",
            .unsaid = "any",
            .meaning =
                "all that a request may have, beside `ip`, `method`, `host`, `path`, `raw_path` and what "
                "gateways map; another is an error. A log that is replayed may have any",
            .form = R"({
  "description": "All that a request may have, beside ip, method, host, path, raw_path and what gateways map: another is an error.",
  "oneOf": [
    { "$ref": "#/$defs/attribute" },
    { "type": "array", "uniqueItems": true, "items": { "$ref": "#/$defs/attribute" } }
  ]
})"},
    FileKey{.name = "classes",
            .unsaid = "none",
            .meaning = "names of classes, the most important first: at most 6, `default` among them",
            .form = R"({
  "description": "How important a request can be, the most important first; `default` is among them.",
  "type": ["array", "string"],
  "minItems": 1,
  "maxItems": 6,
  "uniqueItems": true,
  "items": { "$ref": "#/$defs/name" }
})"},
    FileKey{.name = "ceiling",
            .rule = FileRule::classes,
            .unsaid = "the first class",
            .meaning = "the most important class that a request may name where its route has no class",
            .form = R"({
  "description": "The most important class that a request may name where its route has none.",
  "$ref": "#/$defs/name"
})"},
    FileKey{.name = "hash_tag",
            .unsaid = "none",
            .meaning = "an attribute: keys of limits that count by it share a slot of a Redis Cluster",
            .form = R"({
  "description": "In a cluster, keys with the same value of this attribute share a slot.",
  "$ref": "#/$defs/attribute"
})"},
    FileKey{.name = "lists",
            .unsaid = "none",
            .meaning = "`NAME: [entries]`, or `NAME: { file: PATH }`",
            .form = R"({
  "description": "Texts, patterns, addresses and CIDRs, for `when`, `deny` and `allow` to name as \"@name\".",
  "type": "object",
  "propertyNames": { "$ref": "#/$defs/name" },
  "additionalProperties": {
    "oneOf": [
      { "$ref": "#/$defs/texts" },
      {
        "type": "object",
        "required": ["file"],
        "additionalProperties": false,
        "properties": { @ }
      }
    ]
  }
})"},
    FileKey{.name = "limits", .unsaid = "none", .meaning = "`NAME: { ... }`, at most 1,024", .form = R"({
  "description": "Named limits.",
  "type": "object",
  "maxProperties": 1024,
  "propertyNames": { "$ref": "#/$defs/name" },
  "additionalProperties": { "$ref": "#/$defs/limit" }
})"},
    FileKey{.name = "routes",
            .unsaid = "all limits",
            .meaning = "a list, of which the first that matches counts",
            .form = R"({
  "description": "Which limits a request meets: the first route that matches. Without routes, all limits.",
  "type": "array",
  "minItems": 1,
  "items": {
    "type": "object",
    "required": ["limits"],
    "additionalProperties": false,
    "properties": {
      @
    }
  }
})"},
    FileKey{.name = "gateways",
            .unsaid = "none",
            .meaning = "`NAME: { ... }`, at most 64: how gateways ask at `/v1/gate/NAME`",
            .form = R"({
  "description": "How gateways ask at /v1/gate/NAME: which headers say what, and which proxies are believed.",
  "type": "object",
  "maxProperties": 64,
  "propertyNames": { "$ref": "#/$defs/name" },
  "additionalProperties": { "$ref": "#/$defs/gateway" }
})"},
    FileKey{.name = "rls",
            .unsaid = "none",
            .meaning = "`DOMAIN: { ... }`, at most 64: what descriptors of Envoy's rate limit service say",
            .form = R"({
  "description": "Domains of Envoy's rate limit service: each descriptor is a request, its entries are attributes.",
  "type": "object",
  "maxProperties": 64,
  "additionalProperties": { "$ref": "#/$defs/rls_domain" }
})"},
    FileKey{.name = "answers",
            .unsaid = "`status: 429`",
            .meaning = "`status`, 400 to 599, and `headers`, of what HTTP answers",
            .form = R"({
  "description": "What a denied request gets over HTTP.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    @
  }
})"},
};
inline constexpr std::array kList = {
    FileKey{.name = "file",
            .form = R"({ "description": "One entry a line, beside the limits file.", "type": "string" })"},
};
inline constexpr std::array kRoute = {
    FileKey{.name = "when", .form = R"({ "$ref": "#/$defs/when" })"},
    FileKey{
        .name = "class",
        .rule = FileRule::classes,
        .form =
            R"({ "description": "What its requests have unless they say less.", "$ref": "#/$defs/name" })"},
    FileKey{.name = "limits", .rule = FileRule::route_limits, .form = R"({
  "description": "Names of limits; what they are within is met too.",
  "oneOf": [
    { "$ref": "#/$defs/name" },
    { "type": "array", "uniqueItems": true, "items": { "$ref": "#/$defs/name" } }
  ]
})"},
};
inline constexpr std::array kGateway = {
    FileKey{.name = "from",
            .unsaid = "required",
            .meaning =
                "which headers say what the client asked for: `x-forwarded` (X-Forwarded-Method, -Uri, "
                "-Host and -For), `x-original` (X-Original-Method, -URI and -Host, X-Real-IP), or `path`: "
                "the method, the path after the profile and the Host of the check itself, X-Forwarded-For",
            .form = R"({
  "description": "Where method, URI, host and address are: X-Forwarded-*, X-Original-*, or the request itself.",
  "enum": ["x-forwarded", "x-original", "path"]
})"},
    FileKey{.name = "trusted",
            .unsaid = "none",
            .meaning = "proxies whose X-Forwarded-For is believed, at most 1,000 addresses and CIDRs",
            .form = R"({
  "description": "Proxies before the gateway, whose X-Forwarded-For is believed: addresses and CIDRs.",
  "oneOf": [
    { "type": "string", "pattern": "[.:]" },
    { "type": "array", "maxItems": 1000, "items": { "type": "string", "pattern": "[.:]" } }
  ]
})"},
    FileKey{.name = "attributes",
            .unsaid = "none",
            .meaning = "`NAME: header.NAME`, at most 32: attributes and the headers that carry them",
            .form = R"({
  "description": "Attributes, each with the header that carries it.",
  "type": "object",
  "maxProperties": 32,
  "propertyNames": {
    "allOf": [{ "$ref": "#/$defs/attribute" }, { "not": { "enum": ["ip", "method", "host", "path", "raw_path"] } }]
  },
  "additionalProperties": { "$ref": "#/$defs/header" }
})"},
    FileKey{
        .name = "address",
        .unsaid = "by `from`",
        .meaning = "the header with the client's address, as `header.NAME`",
        .form = R"({ "description": "The header with the client's address.", "$ref": "#/$defs/header" })"},
    FileKey{.name = "token",
            .unsaid = "none",
            .meaning =
                "`{ header: NAME, env: VARIABLE }`: a header that the gateway sends, and where its value is",
            .form = R"({
  "description": "A header that the gateway sets, and the environment variable that has its value.",
  "type": "object",
  "required": ["header", "env"],
  "additionalProperties": false,
  "properties": {
    @
  }
})"},
    FileKey{.name = "deny_status",
            .unsaid = "`answers.status`",
            .meaning = "what a denial is answered with, 400 to 599",
            .form = R"({ "type": ["integer", "string"], "minimum": 400, "maximum": 599 })"},
    FileKey{.name = "on_missing",
            .unsaid = "`skip`",
            .meaning = "what happens to a request that lacks `ip`, `path`, or an attribute that one of its "
                       "limits counts by: it does not meet such a limit, or with `deny` it is denied",
            .form = R"({
  "description": "A request that lacks what a limit counts by skips the limit, or is denied.",
  "enum": ["skip", "deny"]
})"},
    FileKey{.name = "odd_paths",
            .unsaid = "`deny`",
            .meaning = "what a path that two programs may understand differently gets; `keep` leaves its odd "
                       "escapes and its parameters as they are",
            .form = R"({
  "description": "What a path with %2f, %5c, %00, a backslash or a broken escape gets.",
  "enum": ["deny", "keep"]
})"},
    FileKey{.name = "hold",
            .unsaid = "`false`",
            .meaning = "`true`: where a limit has a `hold`, an allowed request is held, and its id is in the "
                       "answer's field `Weir-Reservation`, for the application to settle",
            .form = R"({
  "description": "Where a limit has a hold, an allowed request is held: its id is in Weir-Reservation.",
  "enum": [true, false, "true", "false"]
})"},
};
inline constexpr std::array kRlsDomain = {
    FileKey{.name = "attributes",
            .unsaid = "none",
            .meaning = "`KEY: ATTRIBUTE`, at most 64: keys of entries, and the attributes that they are",
            .form = R"({
  "description": "Keys of a descriptor's entries, and the attributes that they are.",
  "type": "object",
  "maxProperties": 64,
  "additionalProperties": { "$ref": "#/$defs/attribute" }
})"},
    FileKey{.name = "unmapped",
            .unsaid = "`keep`",
            .meaning = "whether an entry with another key is an attribute of that name (`keep`; one that no "
                       "attribute can have is dropped), or says nothing (`drop`)",
            .form = R"({
  "description": "An entry with another key is an attribute of that name, or is dropped.",
  "enum": ["keep", "drop"]
})"},
};
inline constexpr std::array kToken = {
    FileKey{
        .name = "header",
        .form =
            R"({ "type": ["string", "number", "boolean", "null"], "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" })"},
    FileKey{
        .name = "env",
        .form = R"({ "type": ["string", "boolean", "null"], "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" })"},
};
inline constexpr std::array kAnswers = {
    FileKey{.name = "status", .form = R"({ "type": ["integer", "string"], "minimum": 400, "maximum": 599 })"},
    FileKey{.name = "headers", .form = R"({
  "type": ["array", "string"],
  "uniqueItems": true,
  "items": {
    "enum": ["retry-after", "ratelimit-11", "draft-06", "x-ratelimit", "x-ratelimit-epoch", "off"]
  }
})"},
};
inline constexpr std::array kGroupIp = {
    FileKey{.name = "v4", .form = R"({ "type": ["integer", "string"], "minimum": 1, "maximum": 32 })"},
    FileKey{.name = "v6", .form = R"({ "type": ["integer", "string"], "minimum": 1, "maximum": 128 })"},
};
inline constexpr std::array kCost = {
    FileKey{.name = "from", .form = R"({ "$ref": "#/$defs/attribute" })"},
};
inline constexpr std::array kCostCase = {
    FileKey{.name = "when", .form = R"({ "$ref": "#/$defs/when" })"},
    FileKey{.name = "cost", .form = R"({ "$ref": "#/$defs/units" })"},
};
inline constexpr std::array kPenalty = {
    FileKey{.name = "for", .form = R"({ "$ref": "#/$defs/span" })"},
    FileKey{
        .name = "growing",
        .form = R"({ "type": ["number", "string"], "minimum": 1, "maximum": 1000, "pattern": "^[0-9]" })"},
    FileKey{.name = "most", .form = R"({ "$ref": "#/$defs/span" })"},
    FileKey{.name = "then", .form = R"({ "type": "string", "enum": ["afresh"] })"},
};
inline constexpr std::array kHold = {
    FileKey{.name = "estimate", .form = R"({ "$ref": "#/$defs/units" })"},
    FileKey{.name = "ttl", .form = R"({ "$ref": "#/$defs/span" })"},
    FileKey{.name = "at_most", .form = R"({ "$ref": "#/$defs/share" })"},
};
inline constexpr std::array kLease = {
    FileKey{.name = "units", .form = R"({ "$ref": "#/$defs/units" })"},
    FileKey{.name = "for", .form = R"({ "$ref": "#/$defs/span" })"},
};

// What `answers.headers` may name.
inline const std::vector<std::string> kHeaders = {"retry-after", "ratelimit-11",      "draft-06",
                                                  "x-ratelimit", "x-ratelimit-epoch", "off"};

}  // namespace keys
}  // namespace weir::limits
