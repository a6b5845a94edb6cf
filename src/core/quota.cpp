#include "weir/quota.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/duration.hpp"
#include "core/text.hpp"

namespace weir {
namespace {

std::string below_least(std::string_view field, std::int64_t value) {
  return std::string(field) + ": " + std::to_string(value) + " is below the minimum (1)";
}

std::optional<std::int64_t> parse_count(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

// The count nearest to rate.count that whole nanoseconds keep: the smallest one of each interval is tried, up
// and down from the asked one's. Few steps: a count is only refused when its interval is below 1000 ns.
std::int64_t Quota::nearest_count(Rate rate, std::int64_t interval) {
  const std::int64_t period = rate.period.count();
  const auto count_for = [period](std::int64_t t) { return (period - 1) / t + 1; };
  const auto works = [rate, count_for](std::int64_t t) {
    return judge({count_for(t), rate.period}, 1).fault == Fault::none;
  };
  std::int64_t longer = interval;
  while (longer < period && !works(longer)) ++longer;
  std::int64_t shorter = interval - 1;
  while (shorter > 1 && !works(shorter)) --shorter;
  const std::int64_t below = count_for(longer);
  if (shorter < 1) return below;
  const std::int64_t above = count_for(shorter);
  return above - rate.count < rate.count - below ? above : below;
}

tl::expected<Quota, std::string> Quota::make(Rate rate, std::int64_t burst) {
  const Checked checked = judge(rate, burst);
  const std::string period = core::to_text(rate.period);
  switch (checked.fault) {
    case Fault::none:
      return Quota{rate, burst, std::chrono::nanoseconds{checked.interval}};
    case Fault::count:
      return tl::unexpected(below_least("count", rate.count));
    case Fault::period:
      return tl::unexpected("period: " + period + " is below the minimum (1ns)");
    case Fault::too_fast:
      return tl::unexpected("count: " + std::to_string(rate.count) + " per " + period +
                            " is more than one per nanosecond; the maximum is " +
                            std::to_string(rate.period.count()));
    case Fault::too_coarse:
      return tl::unexpected("count: " + std::to_string(rate.count) + " per " + period +
                            " would be slowed by more than 0.1 %, because time is counted in whole "
                            "nanoseconds; the nearest that works is " +
                            std::to_string(nearest_count(rate, checked.interval)));
    case Fault::burst:
      return tl::unexpected(below_least("burst", burst));
    case Fault::burst_too_long:
      break;
  }
  return tl::unexpected("burst: " + std::to_string(burst) + " at " + std::to_string(rate.count) + " per " +
                        period + " would take longer than 2^63 ns to drain; the maximum is " +
                        std::to_string(std::numeric_limits<std::int64_t>::max() / checked.interval));
}

tl::expected<Quota, std::string> Quota::parse(std::string_view text) {
  const auto refused = [text](std::string_view what) {
    return tl::unexpected("quota '" + std::string(text) + "': " + std::string(what) +
                          "; the form is COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20");
  };
  const auto [rate_text, rest] = core::next_word(text);
  const std::size_t slash = rate_text.find('/');
  if (slash == std::string_view::npos) return refused("missing '/' between count and period");
  const auto count = parse_count(rate_text.substr(0, slash));
  if (!count) return refused("the count is not a whole number below 2^63");
  const auto period = core::parse_duration(rate_text.substr(slash + 1));
  if (!period) return refused("the period is not a time such as s, 10s, 250ms, min, h or 1.5d");

  std::int64_t burst = *count;
  if (const auto [word, after] = core::next_word(rest); !word.empty()) {
    if (word != "burst") return refused("unexpected '" + std::string(word) + "'");
    const auto [units_text, end] = core::next_word(after);
    const auto units = parse_count(units_text);
    if (!units) return refused("the burst is not a whole number below 2^63");
    if (!core::next_word(end).text.empty()) return refused("unexpected text after the burst");
    burst = *units;
  }
  auto quota = make({*count, *period}, burst);
  if (!quota) return tl::unexpected("quota '" + std::string(text) + "': " + quota.error());
  return quota;
}

}  // namespace weir
