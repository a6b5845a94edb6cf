// When a snapshot was made, and how much time has passed since.
//
// The clocks of two boots of a machine have nothing in common, so a snapshot keeps how long after its moment
// each debt is paid, and this keeps the moment: by CLOCK_BOOTTIME, which goes on while the machine is
// suspended, and by the wall clock for after a reboot.
//
// Plain values, any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace weir::inline v0_1::store {

// What is read; a test can replace it.
class SystemClocks {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  virtual ~SystemClocks() = default;
  virtual nanoseconds steady() const;  // the table's
  virtual nanoseconds booted() const;  // since the machine was booted
  virtual nanoseconds wall() const;    // since 1970
  // The kernel's name for this boot; all zero where it cannot be read, and then no two boots are the same.
  virtual std::array<char, 16> boot_id() const;
};

// A moment by the clocks that outlive the process, as it is written in the file.
struct Stamp {
  std::array<char, 16> boot_id{};
  std::int64_t booted = 0;  // ns
  std::int64_t wall = 0;    // ns
};
static_assert(sizeof(Stamp) == 32);

// The same moment by the table's clock.
struct Instant {
  std::chrono::nanoseconds now;
  Stamp stamp;
};
// A process can be stopped between two readings. The table's clock is therefore read first: such a pause
// makes every debt last that much longer, and forgives none of it.
Instant read_instant(const SystemClocks& clocks);

// 0 or above: a clock that was set back counts as no time. To be read before the clock that a table is
// restored by, for the same reason.
std::chrono::nanoseconds passed_since(const Stamp& stamp, const SystemClocks& clocks);

}  // namespace weir::store
