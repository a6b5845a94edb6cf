// Zones for unit tests, each with a few shifts of its clocks, and so a calendar without a database.
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/calendar.hpp"
#include "weir/time_zone.hpp"

namespace weir::inline v0_1::core {

// Seconds since 1970 in UTC.
inline std::chrono::seconds utc(int year, unsigned month, unsigned day, std::chrono::seconds time = {}) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): its literals are operators
  return sys_days{std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day)}
             .time_since_epoch() +
         time;
}

class TestZone final : public TimeZone {
 public:
  // How far its clocks are ahead before the first shift; when they shift, and to what.
  TestZone(std::chrono::seconds east,
           std::vector<std::pair<std::chrono::seconds, std::chrono::seconds>> shifts)
      : east_(east), shifts_(std::move(shifts)) {}

  Span at(std::chrono::seconds utc) const override {
    Span span{std::chrono::seconds::min() / 2, std::chrono::seconds::max() / 2, east_};
    for (const auto& [when, east] : shifts_) {
      if (when > utc) {
        span.to = when;
        break;
      }
      span.from = when;
      span.east = east;
    }
    return span;
  }

 private:
  std::chrono::seconds east_;
  std::vector<std::pair<std::chrono::seconds, std::chrono::seconds>> shifts_;
};

class TestZones final : public TimeZones {
 public:
  const TimeZone* find(std::string_view name) const override {
    if (name == "No/Database") throw std::runtime_error("no database at all");
    const auto found = zones_.find(std::string(name));
    return found == zones_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, zone] : zones_) names.push_back(name);
    return names;
  }
  std::string folder() const override { return "a test"; }

 private:
  using h = std::chrono::hours;
  using min = std::chrono::minutes;
  const std::map<std::string, TestZone> zones_{
      // Twice an offset in a row, as databases have it where only the name of the time changes.
      {"Middle/Nowhere", TestZone(h{1}, {{utc(2026, 2, 1, h{12}), h{1}},
                                         {utc(2026, 3, 29, h{1}), h{2}},
                                         {utc(2026, 10, 25, h{1}), h{1}},
                                         {utc(2026, 10, 25, h{1} + min{10}), h{1}}})},
      // Half an hour, forwards at 2:00 and back at 2:00.
      {"Half/Hour", TestZone(h{10} + min{30},
                             {{utc(2026, 4, 4, h{15}), h{11}}, {utc(2026, 10, 3, h{15}), h{10} + min{30}}})},
      // Midnight does not exist: 24:00 is 1:00.
      {"No/Midnight", TestZone(-h{3}, {{utc(2026, 11, 1, h{3}), -h{2}}})},
      // At one minute after midnight it is the day before again.
      {"Minute/Past", TestZone(-h{2}, {{utc(2026, 11, 1, h{2} + min{1}), -h{3}}})},
      // A date that never was: after the 29th comes the 31st.
      {"No/Thirtieth", TestZone(-h{10}, {{utc(2026, 12, 30, h{10}), h{14}}})},
      {"East/Most", TestZone(h{14}, {})},
      {"West/Most", TestZone(-h{12}, {})},
      // On the first two days of the clocks of stores in tests.
      {"Soon/Shifts", TestZone(h{1}, {{utc(2023, 11, 26, h{15}), h{2}},
                                      {utc(2023, 11, 27, h{15}), h{1}},
                                      {utc(2100, 1, 12, h{18}), h{2}},
                                      {utc(2100, 1, 13, h{18}), h{1}}})},
  };
};

inline const TestZones& test_zones() {
  static const TestZones zones;
  return zones;
}

inline const Calendar& calendar_of(Calendar::Unit unit, std::string_view zone) {
  use_time_zones(test_zones());
  return *Calendar::find(unit, zone).value();
}

}  // namespace weir::core
