// The chance of a simulation: numbers that a seed repeats, on every machine and by every compiler.
//
// Not the standard's distributions, whose results a library may choose. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace weir::inline v0_1::simulation {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// SplitMix64.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t word = state_ += 0x9E3779B97F4A7C15ULL;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
    return word ^ (word >> 31);
  }
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  nanoseconds between(nanoseconds least, nanoseconds most) {
    return nanoseconds{between(least.count(), most.count())};
  }
  bool one_in(std::uint64_t times) { return below(times) == 0; }
  bool percent(std::uint64_t of_a_hundred) { return below(100) < of_a_hundred; }
  template <class Thing>
  const Thing& any(const std::vector<Thing>& things) {
    return things[below(things.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::simulation
