#include "sim/key_tally.hpp"

#include <algorithm>
#include <bit>

namespace weir::inline v0_1::sim {
namespace {

std::size_t size_class(std::uint32_t requests) {
  return static_cast<std::size_t>(std::bit_width(requests) - 1);
}

void count_in(std::vector<std::uint64_t>& classes, std::uint32_t requests) {
  const std::size_t size = size_class(requests);
  if (classes.size() <= size) classes.resize(size + 1);
  ++classes[size];
}

}  // namespace

void KeyTally::count(const Request& request, Standing& standing) {
  ++standing.requests;
  if (request.charged) {
    units_ += request.units;
    peaks_.add(request.ns, request.units, 1);
  }
  if (request.verdict == Verdict::allowed) {
    ++allowed_;
    standing.locked_since = -1;
    return;
  }
  ++denied_;
  if (request.verdict == Verdict::never) ++never_;
  if (standing.denied++ == 0) {
    standing.first_denied = request.ns;
    ++keys_denied_;
  }
  if (standing.locked_since < 0) standing.locked_since = request.ns;
  const std::int64_t locked_out = request.ns - standing.locked_since + request.retry_after_ns;
  if (denied_ == 1 || locked_out > longest_ ||
      (locked_out == longest_ && standing.locked_since < longest_since_)) {
    longest_ = locked_out;
    longest_since_ = standing.locked_since;
    longest_key_ = static_cast<std::size_t>(&standing - standings_.data());
  }
}

LimitReport KeyTally::report(std::size_t worst) const {
  LimitReport report;
  report.allowed = allowed_;
  report.denied = denied_;
  report.never = never_;
  report.decided = decided_;
  report.would_deny = would_deny_;
  report.units_admitted = units_ > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(units_);
  report.clients_denied = keys_denied_;
  report.longest_locked_out_ns = longest_;
  if (denied_ > 0) {
    report.longest_locked_out_client = standings_[longest_key_].name;
    report.longest_locked_out_number = longest_key_;
  }
  report.peak_second = peaks_.second(0);
  report.peak_minute = peaks_.minute(0);
  std::vector<const Standing*> all;
  for (const Standing& each : standings_) {
    if (each.denied == 0) continue;
    all.push_back(&each);
    count_in(report.denied_clients_by_size, each.requests);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(all.size(), worst));
  std::partial_sort(all.begin(), all.begin() + shown, all.end(), [](const Standing* a, const Standing* b) {
    if (a->denied != b->denied) return a->denied > b->denied;
    if (a->first_denied != b->first_denied) return a->first_denied < b->first_denied;
    return a->name < b->name;
  });
  all.resize(static_cast<std::size_t>(shown));
  for (const Standing* each : all)
    report.worst.push_back({each->name, static_cast<std::uint64_t>(each - standings_.data()), each->requests,
                            each->denied, each->first_denied, std::nullopt});
  return report;
}

std::vector<std::uint64_t> KeyTally::by_size() const {
  std::vector<std::uint64_t> classes;
  for (const Standing& each : standings_) count_in(classes, each.requests);
  return classes;
}

}  // namespace weir::sim
