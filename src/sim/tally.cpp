#include "sim/tally.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace weir::inline v0_1::sim {

void Tally::deny(Standing& standing, std::uint32_t who, std::int64_t ns, Verdict verdict, std::int64_t wait) {
  ++denied_;
  if (verdict == Verdict::never) ++never_;
  if (standing.denied++ == 0) {
    standing.first_denied = ns;
    ++clients_denied_;
  }
  if (standing.locked_since < 0) standing.locked_since = ns;
  const std::int64_t locked_out = ns - standing.locked_since + wait;
  if (denied_ == 1 || locked_out > longest_ ||
      (locked_out == longest_ && standing.locked_since < longest_since_)) {
    longest_ = locked_out;
    longest_since_ = standing.locked_since;
    longest_who_ = who;
  }
}

void Tally::add_to(LimitReport& report, std::uint32_t all, std::size_t worst,
                   const std::function<Met(std::uint32_t who)>& met,
                   const std::function<std::string(std::uint32_t who)>& name) const {
  report.allowed = allowed_;
  report.denied = denied_;
  report.never = never_;
  report.units_admitted = units_ > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(units_);
  report.clients_denied = clients_denied_;
  report.longest_locked_out_ns = longest_;
  if (denied_ > 0) {
    report.longest_locked_out_client = name(longest_who_);
    report.longest_locked_out_number = longest_who_;
  }
  std::vector<std::uint32_t> denied;
  for (std::uint32_t who = 0; who < all; ++who) {
    const Met each = met(who);
    if (each.standing->denied == 0) continue;
    denied.push_back(who);
    count_by_size(report.denied_clients_by_size, each.requests);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(denied.size(), worst));
  std::partial_sort(denied.begin(), denied.begin() + shown, denied.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      const Standing& left = *met(a).standing;
                      const Standing& right = *met(b).standing;
                      if (left.denied != right.denied) return left.denied > right.denied;
                      if (left.first_denied != right.first_denied)
                        return left.first_denied < right.first_denied;
                      return name(a) < name(b);
                    });
  denied.resize(static_cast<std::size_t>(shown));
  for (const std::uint32_t who : denied) {
    const Met each = met(who);
    report.worst.push_back(
        {name(who), who, each.requests, each.standing->denied, each.standing->first_denied, std::nullopt});
  }
}

void count_by_size(std::vector<std::uint64_t>& classes, std::uint32_t requests) {
  const auto size = static_cast<std::size_t>(std::bit_width(requests) - 1);
  if (classes.size() <= size) classes.resize(size + 1);
  ++classes[size];
}

}  // namespace weir::sim
