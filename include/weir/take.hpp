// As many of some units as there are, for callers that can use fewer than they would like.
//
//   weir::Taken some = limiter.take_up_to(weir::Cost{50}, weir::Cost{10});  // 10 to 50 of them, or none
//   for (std::uint64_t i = 0; i < some.granted; ++i) send();
//
// The greatest number that is admitted now is charged at once, so nobody comes between asking how many there
// are and taking them. A most above the burst is fine as long as the least is not.
//
// Plain values, any thread.
#pragma once

#include <cstdint>

#include "weir/decision.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

struct Taken {
  Decision decision{};        // about what was granted; when denied, about the least
  std::uint64_t granted = 0;  // units; 0: denied

  [[nodiscard]] bool allowed() const noexcept { return decision.allowed(); }
};

}  // namespace weir
