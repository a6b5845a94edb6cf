#include "steering/usage_buffer.hpp"

namespace weir::inline v0_1::steering {

std::vector<Booking> UsageBuffer::take(std::chrono::nanoseconds utc) {
  std::unordered_map<std::uint64_t, Open> keys;
  std::vector<Booking> taken;
  {
    const store::Held lock(mutex_);
    keys.swap(keys_);
    taken.swap(steps_);
    places_.clear();
    since_ = utc;
  }
  for (auto& [hash, open] : keys) taken.push_back(std::move(open.booking));
  return taken;
}

}  // namespace weir::steering
