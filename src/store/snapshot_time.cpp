#include "store/snapshot_time.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "store/clock.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

}  // namespace

nanoseconds SystemClocks::steady() const { return steady_now(); }
nanoseconds SystemClocks::booted() const { return read_clock(CLOCK_BOOTTIME); }
nanoseconds SystemClocks::wall() const { return read_clock(CLOCK_REALTIME); }

std::array<char, 16> SystemClocks::boot_id() const {
  std::array<char, 16> id{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  std::array<char, 36> text{};
  const bool whole = ::read(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  std::size_t nibble = 0;
  for (const char c : text) {
    if (!whole || c == '-' || nibble == 32) continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    id[nibble / 2] = static_cast<char>(id[nibble / 2] << 4 | value);
    ++nibble;
  }
  return id;
}

Instant read_instant(const SystemClocks& clocks) {
  Instant read{};
  read.now = clocks.steady();
  read.stamp = {clocks.boot_id(), clocks.booted().count(), clocks.wall().count()};
  return read;
}

nanoseconds passed_since(const Stamp& stamp, const SystemClocks& clocks) {
  const std::array<char, 16> boot = clocks.boot_id();
  const bool same_boot = boot == stamp.boot_id && boot != std::array<char, 16>{};
  const nanoseconds passed =
      same_boot ? clocks.booted() - nanoseconds{stamp.booted} : clocks.wall() - nanoseconds{stamp.wall};
  return std::max(passed, nanoseconds{0});
}

}  // namespace weir::store
