#include "steering/usage_buffer.hpp"

namespace weir::inline v0_1::steering {

UsageBuffer::Taken UsageBuffer::take(std::chrono::nanoseconds utc) {
  std::unordered_map<std::uint64_t, Open> keys;
  Taken taken;
  {
    const store::Held lock(mutex_);
    keys.swap(keys_);
    taken.bookings.swap(done_);
    taken.changes.swap(changes_);
    since_ = utc;
  }
  for (auto& [hash, open] : keys) taken.bookings.push_back(std::move(open.booking));
  return taken;
}

}  // namespace weir::steering
