#include "weir/quota.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "core/whole_rate.hpp"
#include "core/word.hpp"

namespace weir::inline v0_1 {
namespace {

std::string below_least(std::string_view field, std::int64_t value) {
  return std::string(field) + ": " + std::to_string(value) + " is below the minimum (1)";
}

std::string too_long(std::string_view field) {
  return std::string(field) + " is above the maximum (" + core::to_text(std::chrono::nanoseconds::max()) +
         ")";
}

// Of the counts that have this T, or a longer one, the lowest with this: it is slowed least.
constexpr std::int64_t lowest_count(std::int64_t period, std::int64_t interval) {
  return (period - 1) / interval + 1;
}
// Of the counts with this T those up to this one are slowed by at most 0.1 %.
constexpr std::int64_t highest_count(std::int64_t period, std::int64_t interval) {
  const std::uint64_t most_taken =
      static_cast<std::uint64_t>(period) + static_cast<std::uint64_t>(period / 1000);  // below 2^64
  return static_cast<std::int64_t>(most_taken / static_cast<std::uint64_t>(interval));
}

}  // namespace

// The count nearest to rate.count that whole nanoseconds keep, the lower of two that are equally near. An
// interval belongs to a range of counts, of which the lowest is slowed least: so above the asked one it is
// the lowest of the first range that is kept at all, and below it the highest that is kept. Few steps: a
// count is only refused when its interval is below 1000 ns.
std::int64_t Quota::nearest_count(Rate rate, std::int64_t interval) {
  const std::int64_t period = rate.period.count();
  const auto works = [rate](std::int64_t count) {
    return judge({count, rate.period}, 1).fault == Fault::none;
  };
  std::int64_t shorter = interval - 1;
  while (shorter > 0 && !works(lowest_count(period, shorter))) --shorter;
  std::int64_t longer = interval;
  while (!works(lowest_count(period, longer))) ++longer;  // at the latest one unit for each period
  const std::int64_t kept = highest_count(period, longer);
  const std::int64_t below = longer == 1 ? kept : std::min(kept, lowest_count(period, longer - 1) - 1);
  if (shorter < 1) return below;
  const std::int64_t above = lowest_count(period, shorter);
  return above - rate.count < rate.count - below ? above : below;
}

Quota::Made Quota::made(Rate rate, std::int64_t burst) {
  const auto refused = [](std::string why) { return Made{.why = std::move(why)}; };
  const Checked checked = judge(rate, burst);
  const std::string period = core::to_text(rate.period);
  switch (checked.fault) {
    case Fault::none:
      return {.quota = Quota{rate, burst, std::chrono::nanoseconds{checked.interval}}};
    case Fault::count:
      return refused(below_least("count", rate.count));
    case Fault::period:
      return refused("period: " + period + " is below the minimum (1ns)");
    case Fault::period_too_long:
      return refused(too_long("period: it"));
    case Fault::too_fast:
      return refused("count: " + std::to_string(rate.count) + " per " + period +
                     " is more than one per nanosecond; the maximum is " +
                     std::to_string(rate.period.count()));
    case Fault::too_coarse:
      return refused("count: " + std::to_string(rate.count) + " per " + period +
                     " would be slowed by more than 0.1 %, because time is counted in whole "
                     "nanoseconds; the nearest that works is " +
                     std::to_string(nearest_count(rate, checked.interval)));
    case Fault::burst:
      return refused(below_least("burst", burst));
    case Fault::burst_too_long:
      break;
  }
  return refused("burst: " + std::to_string(burst) + " at " + std::to_string(rate.count) + " per " + period +
                 " would take longer than 2^63 ns to drain; the maximum is " +
                 std::to_string(std::numeric_limits<std::int64_t>::max() / checked.interval));
}

Quota::Made Quota::read(std::string_view said) {
  const std::string text = core::with_slash(said);
  const auto wrong = [&text](std::string_view what) {
    return Made{.why = "quota '" + text + "': " + std::string(what)};
  };
  const auto refused = [&wrong](std::string_view what) {
    return wrong(std::string(what) + "; the form is COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20");
  };
  if (const std::string meant = core::rate_with_blanks(text); !meant.empty())
    return refused("write '" + meant + "', without a space");
  const auto [rate_text, rest] = core::next_word(text);
  const std::size_t slash = rate_text.find('/');
  if (slash == std::string_view::npos) return refused("missing '/' between count and period");
  const auto count = core::number_in<std::int64_t>(rate_text.substr(0, slash));
  const std::string_view period_text = rate_text.substr(slash + 1);
  const auto period = core::read_duration(period_text);
  if (!count) {
    const std::string meant = core::in_whole_numbers(rate_text.substr(0, slash), period_text, period.value,
                                                     !core::next_word(rest).text.empty());
    return refused("the count is not a whole number below 2^63" + (meant.empty() ? "" : "; " + meant));
  }
  if (period_text == "m")
    return wrong("'m' may be minutes or months: write '" + std::to_string(*count) + "/min', or '" +
                 std::to_string(*count) + "/month align=calendar'");
  if (!period_text.empty() && period_text.find_first_not_of("0123456789.") == std::string_view::npos)
    return refused("the period has no unit, such as the s of 10s");
  if (period.fault == core::NumberFault::not_a_number)
    return refused("the period is not a time such as s, 10s, 250ms, min, h or 1.5d");
  if (period.fault == core::NumberFault::out_of_range) return refused(too_long("the period"));

  if (*count == 0) return wrong(core::kAdmitsNothing);
  std::int64_t burst = *count;
  if (const auto [word, after] = core::next_word(rest); !word.empty()) {
    if (word != "burst") return refused("unexpected '" + std::string(word) + "'");
    const auto [units_text, end] = core::next_word(after);
    const auto units = core::number_in<std::int64_t>(units_text);
    if (!units) return refused("the burst is not a whole number below 2^63");
    if (!core::next_word(end).text.empty()) return refused("unexpected text after the burst");
    burst = *units;
  }
  Made result = made({*count, period.value}, burst);
  if (!result.quota) return wrong(result.why);
  return result;
}

Quota Quota::of(Rate rate, std::int64_t burst) {
  const Made result = made(rate, burst);
  if (!result.quota) throw std::invalid_argument("weir::Quota::of: " + result.why);
  return *result.quota;
}

Quota Quota::of(std::string_view text) {
  const Made result = read(text);
  if (!result.quota) throw std::invalid_argument("weir::Quota::of: " + result.why);
  return *result.quota;
}

}  // namespace weir
