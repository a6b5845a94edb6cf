// Makes a list of events shorter while it fails in the same way.
//
// Delta debugging: takes parts of the list out, halves first, and keeps what still fails, until no single
// event can go or the tries are used up.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "simulation/plan.hpp"

namespace weir::inline v0_1::simulation {

inline std::vector<Event> shrink(std::vector<Event> events,
                                 const std::function<bool(const std::vector<Event>&)>& fails,
                                 std::size_t tries) {
  for (std::size_t part = events.size() / 2; part > 0 && tries > 0;) {
    bool went = false;
    for (std::size_t from = 0; from < events.size() && tries > 0;) {
      std::vector<Event> fewer(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(from));
      const std::size_t to = std::min(events.size(), from + part);
      fewer.insert(fewer.end(), events.begin() + static_cast<std::ptrdiff_t>(to), events.end());
      --tries;
      if (fails(fewer)) {
        events = std::move(fewer);
        went = true;
      } else {
        from = to;
      }
    }
    if (!went || part > events.size()) part /= 2;
  }
  return events;
}

}  // namespace weir::simulation
