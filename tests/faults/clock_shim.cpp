// For tests, preloaded into a whole program (LD_PRELOAD): its clocks are ahead of the kernel's by what the
// file CLOCK_SHIM_FILE says at that moment, two numbers of nanoseconds: the wall clock's, the monotonic
// one's.
//
// Not for: timers of the kernel, which go on by its own clocks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Offsets = std::atomic<std::int64_t>[2];

const Offsets* map_offsets() {
  const char* const path = std::getenv("CLOCK_SHIM_FILE");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const mapped = mmap(nullptr, sizeof(Offsets), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const Offsets*>(mapped);
}

std::int64_t ahead(clockid_t clock) {
  static const Offsets* const offsets = map_offsets();
  if (offsets == nullptr) return 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return (*offsets)[0].load();
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) return (*offsets)[1].load();
  return 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  const std::int64_t sum = time->tv_sec * 1'000'000'000 + time->tv_nsec + ahead(clock);
  time->tv_sec = sum / 1'000'000'000;
  time->tv_nsec = sum % 1'000'000'000;
  return 0;
}

int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

std::time_t time(std::time_t* copy) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (copy != nullptr) *copy = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
