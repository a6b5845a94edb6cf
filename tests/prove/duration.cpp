// The steps by which the number of a duration is read, on raw words.
#include "core/duration.cpp"

#include "quota_of.hpp"

namespace core = weir::core;

extern "C" void with_digit(i64 unit, u64 ns, u64 more, u64 digit, u64* out) {
  const auto fraction = core::with_digit({ns, more != 0}, static_cast<unsigned>(digit), nanoseconds{unit});
  out[0] = fraction.ns;
  out[1] = fraction.more ? 1 : 0;
}

extern "C" void times(i64 unit, u64 front, u64 ns, u64 more, u64* out) {
  const auto number = core::times(front, {ns, more != 0}, nanoseconds{unit});
  out[0] = static_cast<u64>(number.fault);
  out[1] = static_cast<u64>(number.value.count());
}
