// An override that an operator has set: what it does to which limit, for whom, how long, why.
//
// Plain values and pure functions, any thread. Not for: deciding by it (limits/steered.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limits/file.hpp"
#include "limits/steered.hpp"

namespace weir::inline v0_1::steering {

using Selector = std::vector<std::pair<std::string, std::string>>;  // as it was written; empty: everybody

struct OperatorOverride {
  std::uint64_t number = 0;
  limits::Steer what = limits::Steer::ban;
  std::string limit;     // its name
  std::string limit_id;  // by which the limit is found when it has another name
  Selector when;
  std::vector<std::string> rates;  // of raise and lower, as they were written
  limits::Time until{};
  std::string reason;
  std::string user;
  limits::Time set_at{};
};

// "ban", "raise", "lower", "shadow_on", "shadow_off"; and back.
std::string_view name_of(limits::Steer what);
std::optional<limits::Steer> read_steer(std::string_view name);

// "user=42 ip=10.0.0.0/8", or "ALL". A value that would be taken for two is in double quotes: user="a b=c".
std::string to_text(const Selector& when);
// Of what to_text() has written.
Selector read_selector(std::string_view text);
// What it says, for the audit: "ban until 2026-12-01T00:00:00.000Z".
std::string described(const OperatorOverride& which);

// The same for two overrides of which the later replaces the earlier: what it does, the limit, the words in
// any order.
std::string words_of(limits::Steer what, std::string_view limit_id, const Selector& when);
// Whether one with these words has to be sought: one of them is a pattern or a CIDR.
bool is_sought(const Selector& when);

// How many bytes its words take, of which there is a bound.
constexpr std::size_t kMostOverrideBytes = 1024;
std::size_t bytes_of(const OperatorOverride& which);

// As bytes, and back; nothing: they are something else.
std::string encoded(const OperatorOverride& which);
std::optional<OperatorOverride> decoded(std::string_view bytes);

}  // namespace weir::steering
