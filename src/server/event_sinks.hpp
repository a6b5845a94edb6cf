// Tells of events wherever people want to be told: each place has a queue and a thread of its own, so none is
// in the way of a decision or of another place.
//
// Any thread. Not for: the audit, which loses nothing (audit_log.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock_function.hpp"
#include "service/metrics.hpp"
#include "steering/event.hpp"

namespace weir::inline v0_1::server {

class EventSinks {
 public:
  struct Options {
    std::vector<std::string> places;  // of --events
    std::string server;               // the name of this one
    core::ClockFunction wall_clock;
    std::function<void(bool warns, const std::string&)> log = [](bool, const std::string&) {};
  };

  // Throws std::runtime_error when a place cannot be one.
  explicit EventSinks(Options options);
  // What waits is delivered once more, as far as that takes no time.
  ~EventSinks();
  EventSinks(const EventSinks&) = delete;
  EventSinks& operator=(const EventSinks&) = delete;

  bool any() const { return !places_.empty(); }
  void tell(const steering::OperatorEvent& event);
  void reopen();  // files
  void add_rows(service::Metrics& metrics) const;

 private:
  struct Place;

  std::string line_of(const steering::OperatorEvent& event) const;

  const Options options_;
  std::vector<std::unique_ptr<Place>> places_;
  std::atomic<std::uint64_t> told_{0};
};

}  // namespace weir::server
