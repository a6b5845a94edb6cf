// What a settlement for less gives back, and what becomes of it, on raw words.
#include "core/freed_units.hpp"
#include "quota_of.hpp"

extern "C" void undrained(u64 T, u64 end, u64 less, i64 now, u64* out) {
  out[0] = weir::core::undrained(end, less, T, nanoseconds{now});
}

extern "C" void first_moment(u64 drains, u64 end, u64* out) {
  out[0] = static_cast<u64>(weir::core::first_moment(end, drains).count());
}

extern "C" void free_units(u64 T, u64 low, u64 end, i64 first, i64 now, u64* out) {
  const auto free = weir::core::free_units(low, end, nanoseconds{first}, T, nanoseconds{now});
  out[0] = static_cast<u64>(free.moment.count());
  out[1] = free.begin;
  out[2] = free.count;
}

extern "C" void end_after_moves(u64 end, u64 then, u64 moved, u64 later, u64* out) {
  out[0] = weir::core::end_after_moves(end, then, moved, later);
}
