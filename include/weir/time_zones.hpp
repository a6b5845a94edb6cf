// The system's time zones, for windows by the calendar (docs/limits.md):
//
//   weir::Limits::use_time_zones(weir::system_time_zones());  // once, before the first file is read
//
// Include this where that is called; it needs Howard Hinnant's date library, Debian's
// libhowardhinnant-date-dev, and the program links its date::date-tz. That one reads the database in
// /usr/share/zoneinfo when it is first asked, so a new one counts from the next start on.
#pragma once

#include <date/tz.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weir/lock.hpp"
#include "weir/time_zone.hpp"

namespace weir::inline v0_1 {

class SystemTimeZones final : public TimeZones {
 public:
  [[nodiscard]] const TimeZone* find(std::string_view name) const override {
    const detail::Held lock(mutex_);
    const std::string wanted(name);
    if (const auto known = found_.find(wanted); known != found_.end()) return known->second.get();
    for (const date::time_zone& each : database().zones) {
      if (each.name() != name) continue;
      auto zone = std::make_unique<const Zone>(each);
      (void)zone->at(std::chrono::seconds{0});  // reads its file now: a bad one is refused here
      return found_.emplace(wanted, std::move(zone)).first->second.get();
    }
    return nullptr;
  }

  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const date::time_zone& each : database().zones) all.push_back(each.name());
    return all;
  }

  [[nodiscard]] std::string folder() const override { return "/usr/share/zoneinfo"; }

 private:
  class Zone final : public TimeZone {
   public:
    explicit Zone(const date::time_zone& zone) : zone_(zone) {}
    [[nodiscard]] Span at(std::chrono::seconds utc) const override {
      const date::sys_info info = zone_.get_info(date::sys_seconds{utc});
      return {info.begin.time_since_epoch(), info.end.time_since_epoch(), info.offset};
    }

   private:
    const date::time_zone& zone_;  // the database's, which is never freed
  };

  static const date::tzdb& database() {
    std::string why = "it is empty";
    try {
      const date::tzdb& found = date::get_tzdb();
      if (!found.zones.empty()) return found;
    } catch (const std::exception& error) {
      why = error.what();
      while (why.ends_with('\n')) why.pop_back();
    }
    throw std::runtime_error(
        "the system has no time zone database in /usr/share/zoneinfo, Debian's package tzdata: " + why);
  }

  mutable detail::Mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<const Zone>> found_ WEIR_GUARDED_BY(mutex_);
};

inline const TimeZones& system_time_zones() {
  static const SystemTimeZones kZones;
  return kZones;
}

}  // namespace weir
