#include "sim/key_tally.hpp"

namespace weir::inline v0_1::sim {

void KeyTally::count(const DecidedRequest& request, std::uint32_t number) {
  Key& key = keys_[number];
  ++key.requests;
  if (request.charged) {
    tally_.charge(request.units);
    peaks_.add(request.ns, request.units, 1);
  }
  if (request.verdict == Verdict::allowed) {
    tally_.allow(key.standing);
  } else {
    tally_.deny(key.standing, number, request.ns, request.verdict, request.retry_after_ns);
  }
}

LimitReport KeyTally::report(std::size_t worst) const {
  LimitReport report;
  report.decided = decided_;
  report.would_deny = would_deny_;
  report.peak_second = peaks_.second(0);
  report.peak_minute = peaks_.minute(0);
  tally_.add_to(
      report, static_cast<std::uint32_t>(keys_.size()), worst,
      [this](std::uint32_t key) { return Tally::Met{&keys_[key].standing, keys_[key].requests}; },
      [this](std::uint32_t key) { return keys_[key].name; });
  return report;
}

std::vector<std::uint64_t> KeyTally::by_size() const {
  std::vector<std::uint64_t> classes;
  for (const Key& each : keys_) count_by_size(classes, each.requests);
  return classes;
}

}  // namespace weir::sim
