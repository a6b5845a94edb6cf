#include "weir/acquire.hpp"

#include <condition_variable>
#include <mutex>

#include "weir/clock.hpp"

namespace weir::inline v0_1 {

bool wait(Reservation& reservation, std::stop_token stop) {
  if (!reservation.granted()) return false;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool rung = false;
  Alarm alarm([&] {
    const std::scoped_lock lock(mutex);
    rung = true;
    changed.notify_all();
  });
  const bool rings = reservation.left().count() > 0 && reservation.set(alarm);
  for (auto left = reservation.left(); left.count() > 0; left = reservation.left()) {
    if (stop.stop_requested()) {
      reservation.cancel();
      return reservation.granted();  // unless its moment came meanwhile
    }
    std::unique_lock lock(mutex);
    if (rings) {
      changed.wait(lock, stop, [&] { return rung; });
    } else {
      changed.wait_for(lock, stop, left, [] { return false; });
    }
  }
  return true;
}

}  // namespace weir
