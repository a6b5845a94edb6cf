// What both referees go by: a plan, what happened in it, and the first thing that does not hold.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

#include "redis/slot.hpp"
#include "simulation/history.hpp"
#include "simulation/plan.hpp"
#include "simulation/referee.hpp"

namespace weir::inline v0_1::simulation {

inline constexpr nanoseconds kDeadline = 50ms;  // of a store that is asked (--store-deadline)
inline constexpr nanoseconds kRounding = 1ms;   // waits are told in whole milliseconds, rounded up

inline bool overlap(const Span& one, const Span& other) {
  return one.from <= other.to && other.from <= one.to;
}

inline bool overlaps(const std::vector<Span>& spans, const Span& span) {
  return std::any_of(spans.begin(), spans.end(), [&](const Span& each) { return overlap(each, span); });
}

inline std::string seconds(nanoseconds time) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6f s", static_cast<double>(time.count()) / 1e9);
  return text;
}

class Evidence {
 protected:
  Evidence(const Plan& plan, const History& history) : plan_(plan), history_(history) {
    for (const Asked& asked : history_.asked) by_event_[asked.event->number] = &asked;
  }

  void wrong(const char* check, const std::string& what) {
    if (verdict_.holds()) verdict_ = {check, what};
  }
  std::string about(const Asked& asked) const {
    std::string text = to_text(*asked.event) + " [server " + std::to_string(asked.server) + ", arrived " +
                       seconds(asked.arrived) + ", departed " + seconds(asked.departed) + "] ->";
    if (asked.reply.kind == Reply::Kind::values) {
      for (const std::int64_t value : asked.reply.values) text += " " + std::to_string(value);
    }
    if (asked.reply.kind == Reply::Kind::integer) text += " " + std::to_string(asked.reply.integer);
    if (asked.event->least > 0) text += " granted " + std::to_string(asked.reply.granted);
    return text + " " + asked.reply.text;
  }

  bool is_shared() const { return plan_.nodes > 0; }
  std::size_t places() const { return is_shared() ? 1 : plan_.servers; }
  std::size_t place_of(const Asked& asked) const { return is_shared() ? 0 : asked.server; }
  // Where a loss has to be for that key to be lost.
  std::size_t lost_with(const Key& key, std::size_t place) const {
    if (plan_.store != Plan::Store::cluster) return place;
    const auto slot = redis::slot_of(key.name);
    return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
  }
  bool disturbed(const Asked& asked) const {
    return overlaps(history_.disturbed[asked.server], {asked.arrived, asked.departed});
  }

  const Plan& plan_;
  const History& history_;
  std::unordered_map<std::uint32_t, const Asked*> by_event_;
  Verdict verdict_;
};

}  // namespace weir::simulation
