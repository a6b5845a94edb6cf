// A quota: how many units per period, and how many at once.
//
//   constexpr auto per_user = weir::Quota::per_minute(100).with_burst(20);  // checked by the compiler
//   const auto from_text = weir::Quota::of("5/10s burst 20");               // throws a sentence
//   const auto from_numbers = weir::Quota::of({.count = 5, .period = 10s}, 20);
//   const auto maybe = weir::Quota::parse("5 a second");                    // an expected: check before use
//   if (!maybe) assert(maybe.error().starts_with("quota '5 a second': "));
//
// A Quota that exists is valid, so no code that is handed one checks it again. Values are immutable and may
// be shared by any number of threads. Not for: state of a key (that is src/core/gcra.hpp's State).
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <utility>

#include "weir/expected.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

namespace core {
struct WindowQuota;
}

// A length of time in whole nanoseconds, from any duration that is exact in them. chrono itself wraps one
// that is too long, such as years{600}; here it becomes too_long(), which no quota accepts.
struct Period : std::chrono::nanoseconds {
  using nanoseconds = std::chrono::nanoseconds;

  constexpr Period() noexcept : nanoseconds{0} {}

  template <std::integral Rep, class Unit>
    requires(std::ratio_divide<Unit, std::nano>::den == 1)
  constexpr Period(std::chrono::duration<Rep, Unit> time) noexcept : nanoseconds{checked(time)} {}

  // Longer than 2^63 - 1 ns, which is 292 years.
  [[nodiscard]] constexpr bool too_long() const noexcept { return *this == nanoseconds::min(); }

 private:
  template <class Rep, class Unit>
  static constexpr nanoseconds checked(std::chrono::duration<Rep, Unit> time) noexcept {
    constexpr rep kNanoseconds = std::ratio_divide<Unit, std::nano>::num;
    constexpr rep kMost = nanoseconds::max().count() / kNanoseconds;
    if (std::cmp_greater(time.count(), kMost)) return nanoseconds::min();
    // As far below 0: refused too, as a period below the minimum.
    if (std::cmp_less(time.count(), -kMost)) return nanoseconds::min() + nanoseconds{1};
    return nanoseconds{static_cast<rep>(time.count()) * kNanoseconds};
  }
};

// `count` units per `period`, exact. A request takes one unit unless it says otherwise.
struct Rate {
  std::int64_t count;
  Period period;

  friend constexpr bool operator==(const Rate&, const Rate&) noexcept = default;
};

// Units that one request takes. 0 is a look: it never consumes and never creates a key.
struct Cost {
  std::uint64_t units = 1;
};

// One request of a batch.
struct KeyCost {
  std::string_view key;
  Cost cost{};
};

class WEIR_API Quota {
 public:
  // Bad numbers in these do not compile. The burst is `count` unless with_burst() says otherwise.
  [[nodiscard]] static consteval Quota per(std::int64_t count, Period period) {
    return literal({count, period}, count);
  }
  [[nodiscard]] static consteval Quota per_second(std::int64_t count) {
    return per(count, std::chrono::seconds{1});
  }
  [[nodiscard]] static consteval Quota per_minute(std::int64_t count) {
    return per(count, std::chrono::minutes{1});
  }
  [[nodiscard]] static consteval Quota per_hour(std::int64_t count) {
    return per(count, std::chrono::hours{1});
  }
  [[nodiscard]] static consteval Quota per_day(std::int64_t count) {
    return per(count, std::chrono::hours{24});
  }

  // The same rate with another burst: units admitted at once from rest, at least 1.
  [[nodiscard]] consteval Quota with_burst(std::int64_t units) const { return literal(rate_, units); }

  // From numbers known at run time: units per period, and units at once, `count` unless said. An error is a
  // sentence that names the field, the value and what is allowed: a count or burst below 1, a period not
  // above 0 or of 2^63 ns (292 years) or more, more than one unit per nanosecond, a rate that whole
  // nanoseconds would slow by more than 0.1 %, and a burst that takes longer than 2^63 ns to drain.
  template <class Result = expected<Quota, std::string>>
  [[nodiscard]] static Result make(Rate rate, std::int64_t burst);
  template <class Result = expected<Quota, std::string>>
  [[nodiscard]] static Result make(Rate rate) {
    return make<Result>(rate, rate.count);
  }

  // From text: COUNT/[N]UNIT [burst N], UNIT one of ns us ms s min h d or their long names, as in "100/min",
  // "5/10s burst 20", "1/1.5h", "1/1h30m". An error is a sentence with the text and what is wrong with it.
  template <class Result = expected<Quota, std::string>>
  [[nodiscard]] static Result parse(std::string_view text);

  // make() and parse() for a program that has nothing better to do with an error than to throw it: throw
  // std::invalid_argument with that sentence.
  [[nodiscard]] static Quota of(Rate rate, std::int64_t burst);
  [[nodiscard]] static Quota of(Rate rate) { return of(rate, rate.count); }
  [[nodiscard]] static Quota of(std::string_view text);

  [[nodiscard]] constexpr Rate rate() const noexcept { return rate_; }
  [[nodiscard]] constexpr std::int64_t burst() const noexcept { return burst_; }

  // T of ITU-T I.371: the time that one unit takes to drain, period / count rounded up to the nanosecond.
  [[nodiscard]] constexpr std::chrono::nanoseconds emission_interval() const noexcept { return interval_; }
  // tau of ITU-T I.371: T x (burst - 1), how far ahead of schedule a request may be.
  [[nodiscard]] constexpr std::chrono::nanoseconds tolerance() const noexcept {
    return interval_ * (burst_ - 1);
  }

  friend constexpr bool operator==(const Quota&, const Quota&) noexcept = default;

 private:
  friend struct core::WindowQuota;

  constexpr Quota(Rate rate, std::int64_t burst, std::chrono::nanoseconds interval) noexcept
      : rate_(rate), burst_(burst), interval_(interval) {}

  enum class Fault { none, count, period, period_too_long, too_fast, too_coarse, burst, burst_too_long };
  struct Checked {
    Fault fault;
    std::int64_t interval;
  };

  // The one place where numbers are judged; make() adds the words.
  static constexpr Checked judge(Rate rate, std::int64_t burst) noexcept {
    const std::int64_t period = rate.period.count();
    if (rate.count < 1) return {Fault::count, 0};
    if (rate.period.too_long()) return {Fault::period_too_long, 0};
    if (period < 1) return {Fault::period, 0};
    if (rate.count > period) return {Fault::too_fast, 0};
    const std::int64_t interval = (period - 1) / rate.count + 1;
    // interval x count is what a period's worth really takes: at most count - 1 < period above the period,
    // so below 2^64. Slowed by more than one part in a thousand means (taken - period) x 1000 > period.
    const std::uint64_t taken = static_cast<std::uint64_t>(interval) * static_cast<std::uint64_t>(rate.count);
    if (taken - static_cast<std::uint64_t>(period) > static_cast<std::uint64_t>(period / 1000)) {
      return {Fault::too_coarse, interval};
    }
    if (burst < 1) return {Fault::burst, interval};
    if (burst > std::numeric_limits<std::int64_t>::max() / interval) return {Fault::burst_too_long, interval};
    return {Fault::none, interval};
  }

  static std::int64_t nearest_count(Rate rate, std::int64_t interval);
  // A quota, or why there is none.
  struct Made;
  static Made made(Rate rate, std::int64_t burst);
  static Made read(std::string_view text);

  // Not constexpr, so that a call ends the compilation, and the compiler shows its text. (`throw` would do
  // the same, but does not compile with -fno-exceptions.)
  static void refused(const char* why) noexcept;

  static consteval Quota literal(Rate rate, std::int64_t burst) {
    const Checked checked = judge(rate, burst);
    switch (checked.fault) {
      case Fault::none:
        break;
      case Fault::count:
        refused("weir::Quota: count must be at least 1");
        break;
      case Fault::period:
        refused("weir::Quota: period must be at least 1 ns");
        break;
      case Fault::period_too_long:
        refused("weir::Quota: period must be below 2^63 ns, which is 292 years");
        break;
      case Fault::too_fast:
        refused("weir::Quota: at most one unit per nanosecond");
        break;
      case Fault::too_coarse:
        refused("weir::Quota: whole nanoseconds would slow this rate by more than 0.1 %");
        break;
      case Fault::burst:
        refused("weir::Quota: burst must be at least 1");
        break;
      case Fault::burst_too_long:
        refused("weir::Quota: burst x emission interval must be below 2^63 ns");
        break;
    }
    return {rate, burst, std::chrono::nanoseconds{checked.interval}};
  }

  Rate rate_;
  std::int64_t burst_;
  std::chrono::nanoseconds interval_;
};

struct Quota::Made {
  std::optional<Quota> quota{};
  std::string why{};

  template <class Result>
  Result as() && {
    if (quota) return *quota;
    return unexpected(std::move(why));
  }
};

template <class Result>
Result Quota::make(Rate rate, std::int64_t burst) {
  return made(rate, burst).template as<Result>();
}

template <class Result>
Result Quota::parse(std::string_view text) {
  return read(text).template as<Result>();
}

}  // namespace weir
