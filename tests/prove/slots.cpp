// What is decided of slots by how many of them are taken, on raw words.
#include "store/slots.hpp"
#include "quota_of.hpp"

extern "C" void slots(i64 limit, i64 most, i64 open, i64 lacking, i64 last, u64 takes, u64* out) {
  const weir::store::FreeSlots free{open, nanoseconds{lacking}, nanoseconds{last}};
  const weir::Decision told = free.decide(limit, most, takes != 0);
  out[0] = static_cast<u64>(told.verdict);
  out[1] = static_cast<u64>(told.remaining);
  out[2] = told.retry_after ? static_cast<u64>(told.retry_after->count()) : 0;
}
