// What an override that is set at run time may say of a limits file: its words, compiled, or what is wrong
// with them.
//
// Pure, any thread; refuses_to_steer() may take as long as the file takes to be judged, so no event loop
// calls it. Not for: which request it concerns (steered.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "limits/file.hpp"
#include "limits/set.hpp"
#include "limits/steered.hpp"

namespace weir::inline v0_1::limits {

struct SteerWords {
  Steer what = Steer::ban;
  std::span<const std::pair<std::string, std::string>> when{};  // attributes and values; empty: everybody
  std::span<const std::string> rates{};                         // of raise and lower, as in the file
};

// What is wrong with the words, and of which of them: "when" or "rate".
struct WrongSteer {
  std::string text;
  std::string_view field;
};

// The limit and the windows that the words are for; number, end, reason and user are the caller's to set.
tl::expected<SteeredOverride, WrongSteer> compile_steer(const Set& set, const Set::CompiledLimit& limit,
                                                        const SteerWords& words);

// Why a raise or a lower of that compiled form must not be set over what is in force: it would do the
// opposite, or guarantees would no longer add up.
std::optional<std::string> refuses_to_steer(const Steered& steered, const SteeredOverride& wanted, Time now);

}  // namespace weir::limits
