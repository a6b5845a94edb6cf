// Leaves one limit of those that a request meets, and one window of it where that matters: for what is told
// of that limit alone.
//
// Pure, any thread. Not for: which limits a request meets (match.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limits/match.hpp"
#include "limits/set.hpp"

namespace weir::inline v0_1::limits {

// Which one is meant, as far as it is said.
struct OneLimit {
  std::string_view name{};  // empty: it does not say
  std::optional<std::chrono::nanoseconds> window{};
  // What it is told of.
  enum class Of : std::uint8_t {
    all,                    // every limit, where none is said
    one,                    // one window of one limit
    all_that_pause,         // those of one limit that are gcra's; its others, if it has such, are left out
    all_that_start_afresh,  // the same of those that can be paused afresh
  };
  Of of = Of::all;
};

// Why it is not clear, or not there; nothing: the others are gone from `matched`, and none is left where the
// request does not meet it. Of a limit that is left alone its guarantees are gone too.
std::optional<std::string> keep_one(const Set& set, const OneLimit& which, Matched& matched);

// Takes one check of a request out of it, to be asked alone; no other is inside it. `into` has its key and
// its limit itself.
void move_one(Matched& from, std::size_t which, Matched& into);

// Leaves out the limits in shadow by other algorithms than those: for the sake of one that stops nobody the
// request would be an error.
void drop_shadows_but(Matched& from, bool (*meets)(Algorithm));

}  // namespace weir::limits
