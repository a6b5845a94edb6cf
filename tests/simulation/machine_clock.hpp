// The clocks of one machine, by the time of the world: one that never steps but drifts, and a wall clock that
// does both.
#pragma once

#include <chrono>
#include <cstdint>

#include "simulation/chance.hpp"

namespace weir::inline v0_1::simulation {

class MachineClock {
 public:
  MachineClock(nanoseconds started_at, std::int64_t drift_ppm, nanoseconds wall_ahead)
      : started_at_(started_at), drift_ppm_(drift_ppm), wall_ahead_(wall_ahead) {}

  nanoseconds steady(nanoseconds world) const {
    const auto drifted = static_cast<__int128>(world.count()) * drift_ppm_ / 1'000'000;
    return started_at_ + world + nanoseconds{static_cast<std::int64_t>(drifted)};
  }
  nanoseconds wall(nanoseconds world) const { return steady(world) + wall_ahead_; }
  void step_wall(nanoseconds by) { wall_ahead_ += by; }

  // When the steady clock will show that: the first moment of the world at which it does.
  nanoseconds world_at(nanoseconds steady_time) const {
    const auto passed = static_cast<__int128>((steady_time - started_at_).count());
    nanoseconds world{static_cast<std::int64_t>(passed * 1'000'000 / (1'000'000 + drift_ppm_))};
    while (steady(world) >= steady_time && world > nanoseconds{0}) --world;
    while (steady(world) < steady_time) ++world;
    return world;
  }

 private:
  nanoseconds started_at_;
  std::int64_t drift_ppm_;
  nanoseconds wall_ahead_;
};

}  // namespace weir::simulation
