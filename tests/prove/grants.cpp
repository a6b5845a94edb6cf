// What grants do to what is owed, on raw words.
#include "core/grant_map.hpp"
#include "quota_of.hpp"

using weir::core::GrantMap;

extern "C" void one_grant(i64 at, i64 need, u64 told, u64* out) {
  const GrantMap map = GrantMap::of(at, need, told != 0);
  out[0] = static_cast<u64>(map.sum);
  out[1] = static_cast<u64>(map.least);
  out[2] = static_cast<u64>(map.late);
  out[3] = static_cast<u64>(map.least_late);
}

extern "C" void two_grants(i64 S, i64 A, i64 P, i64 Q, i64 sum, i64 least, i64 late, i64 least_late,
                           u64* out) {
  const GrantMap map = GrantMap{S, A, P, Q}.then({sum, least, late, least_late});
  out[0] = static_cast<u64>(map.sum);
  out[1] = static_cast<u64>(map.least);
  out[2] = static_cast<u64>(map.late);
  out[3] = static_cast<u64>(map.least_late);
}

extern "C" void owed(i64 S, i64 A, i64 P, i64 Q, i64 tat, u64* out) {
  const GrantMap map{S, A, P, Q};
  out[0] = static_cast<u64>(map.owed(tat));
  out[1] = static_cast<u64>(map.latest(tat));
}

extern "C" void most_before(i64 P, i64 Q, i64 full, u64* out) {
  out[0] = static_cast<u64>(GrantMap{0, 0, P, Q}.most_before(full));
}

extern "C" void of_pause(i64 end, i64 full, i64 T, u64* out) {
  const GrantMap map = GrantMap::of_pause(end, full, T);
  out[0] = static_cast<u64>(map.sum);
  out[1] = static_cast<u64>(map.least);
  out[2] = static_cast<u64>(map.late);
  out[3] = static_cast<u64>(map.least_late);
}
