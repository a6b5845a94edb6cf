// The keys that the store has denied lately: those at their bound, where a decision that is made here errs
// most, however much may have drained since.
//
// Each place holds one key and forgets it for the next, so that it is bounded. One thread; the clock is
// handed in. Not for: answering without asking (denial_memory.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::inline v0_1::redis {

class PressedKeys {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // Longer than a busy server leaves its clients unread (net/brake.hpp).
  static constexpr nanoseconds kFor = std::chrono::seconds{2};

  void denied(std::uint64_t key, nanoseconds now) { place_of(key) = {key, now + kFor}; }
  bool has(std::uint64_t key, nanoseconds now) const {
    const Place& place = places_[index_of(key)];
    return place.key == key && now < place.until;
  }

 private:
  struct Place {
    std::uint64_t key = 0;
    nanoseconds until{0};
  };
  static constexpr std::size_t kPlaces = 4096;

  // The lowest bit is the same in all (hash_of).
  static std::size_t index_of(std::uint64_t key) { return (key >> 1) % kPlaces; }
  Place& place_of(std::uint64_t key) { return places_[index_of(key)]; }

  std::array<Place, kPlaces> places_{};
};

}  // namespace weir::redis
