// Which keys have been told of in their period, so that each is told of once: as far as kMost are remembered.
//
// A key has four places; where they are taken it takes that of the one whose period ends first, which may
// then be told of again. Any thread; a call takes constant time and no memory. Not for: what is told.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "store/spin.hpp"

namespace weir::inline v0_1::steering {

class OnceAPeriod {
 public:
  static constexpr std::size_t kMost = 65'536;

  // Whether it is the first time before `ends`, when the key's period does. `hash` has a secret.
  bool is_first(std::uint64_t hash, std::chrono::nanoseconds now, std::chrono::nanoseconds ends) {
    Stripe& stripe = stripes_[hash % kStripes];
    const store::Held lock(stripe.mutex);
    Set& set = stripe.sets[hash / kStripes % kSetsOfStripe];
    Place* oldest = set.data();
    for (Place& each : set) {
      if (each.hash == hash && each.ends > now) return false;
      if (each.hash == hash) {
        oldest = &each;
        break;
      }
      if (each.ends < oldest->ends) oldest = &each;
    }
    *oldest = {hash, ends};
    return true;
  }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kStripes = 64;
  static constexpr std::size_t kSetsOfStripe = kMost / kWays / kStripes;

  struct Place {
    std::uint64_t hash = 0;
    std::chrono::nanoseconds ends{0};
  };
  using Set = std::array<Place, kWays>;

  struct Stripe {
    store::SpinLock mutex;
    std::array<Set, kSetsOfStripe> sets WEIR_GUARDED_BY(mutex){};
  };

  std::unique_ptr<Stripe[]> stripes_ = std::make_unique<Stripe[]>(kStripes);
};

}  // namespace weir::steering
