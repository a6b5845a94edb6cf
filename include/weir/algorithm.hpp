// How a limit counts. Prefer gcra, the default. The others serve to compare, to migrate, and to match how
// another system counts. docs/algorithm.md defines each, with its promise and its weakness.
#pragma once

#include <cstdint>

namespace weir::inline v0_1 {

enum class Algorithm : std::uint8_t {
  gcra,                    // also called token bucket, and leaky bucket as a meter: they decide alike
  fixed_window,            // windows of one period, the first of them opened by the key's first request
  fixed_window_clock,      // windows at multiples of the period since time 0 of the clock
  sliding_window_log,      // remembers each admission for one period: exact, and takes the most memory
  sliding_window_counter,  // two counts: takes the window before for evenly spread
  calendar,                // windows of a calendar: of a limits file and rules as text only (docs/limits.md)
  in_flight,               // slots: how many holds may be open at once, and no rate
};

}  // namespace weir
