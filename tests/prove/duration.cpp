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

extern "C" void then_digit(u64 front, u64 digit, u64* out) {
  out[0] = core::then_digit(front, static_cast<unsigned>(digit));
}

extern "C" void with_part(u64 ns, u64 too_long, u64 fault, i64 part, u64 most, u64* out) {
  const core::ScaledNumber number{static_cast<core::NumberFault>(fault), nanoseconds{part}};
  const auto sum = core::with_part({ns, too_long != 0}, number, most);
  out[0] = sum.ns;
  out[1] = sum.too_long ? 1 : 0;
}
