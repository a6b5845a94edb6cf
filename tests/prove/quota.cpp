// A quota's numbers, as they are judged before there is a quota.
#include "weir/quota.hpp"

#include <chrono>
#include <cstdint>

#include "core/duration.hpp"
#include "core/quota.cpp"

using i64 = std::int64_t;
using u64 = std::uint64_t;
using std::chrono::nanoseconds;

extern "C" void quota_judge(i64 count, i64 period, i64 burst, u64* out) {
  const auto checked = weir::Quota::judge({count, nanoseconds{period}}, burst);
  out[0] = static_cast<u64>(checked.fault);
  out[1] = static_cast<u64>(checked.interval);
}

extern "C" void period_of_seconds(i64 time, u64* out) {
  out[0] = static_cast<u64>(weir::Period{std::chrono::seconds{time}}.count());
}

extern "C" void period_of_days(i64 time, u64* out) {
  out[0] = static_cast<u64>(weir::Period{std::chrono::days{time}}.count());
}

extern "C" void seconds_of(i64 time, u64* out) {
  out[0] = static_cast<u64>(weir::core::ceil_to_seconds(nanoseconds{time}));
}

extern "C" void lowest_count(i64 period, i64 T, u64* out) {
  out[0] = static_cast<u64>(weir::lowest_count(period, T));
}

extern "C" void highest_count(i64 period, i64 T, u64* out) {
  out[0] = static_cast<u64>(weir::highest_count(period, T));
}
