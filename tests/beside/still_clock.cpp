// Preloaded into a whole program (LD_PRELOAD): its clocks stand still, and show what the file STILL_CLOCK
// says, 64-bit words: the wall clock's nanoseconds, the monotonic one's, then one for each program that runs
// so, STILL_CLOCK_SLOT being the number of its own. There it counts how often it has looked for timers
// (timerfd) that are due: so the program that moves the clocks knows when every timer has fired.
//
// With STILL_CLOCK_WALL_ONLY its monotonic clock runs, as that of a program does that waits by it.
//
// Not for: waits of threads for each other with a timeout, which last until they are woken.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kWords = 512;
using Words = std::atomic<std::int64_t>;

Words* map_words() {
  const char* const path = std::getenv("STILL_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) std::abort();
  void* const mapped = mmap(nullptr, kWords * sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) std::abort();
  return static_cast<Words*>(mapped);
}

Words* words() {
  static Words* const mapped = map_words();
  return mapped;
}

bool is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

bool stands_still(clockid_t clock) {
  static const bool wall_only = std::getenv("STILL_CLOCK_WALL_ONLY") != nullptr;
  if (wall_only) return is_wall(clock);
  return is_wall(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
}

std::int64_t now(clockid_t clock) { return words()[is_wall(clock) ? 0 : 1].load(); }

// When each timer is due by the clocks that stand still, by its descriptor; 0: it is not armed. The kernel's
// own timer runs only when it is due.
constexpr int kTimers = 4096;
std::int64_t due[kTimers];
std::mutex mutex;

void arm(int timer, std::int64_t nanoseconds) {
  const itimerspec wanted{{}, {0, nanoseconds}};
  syscall(SYS_timerfd_settime, timer, 0, &wanted, nullptr);
}

void fire_what_is_due() {
  const std::lock_guard lock(mutex);
  for (int timer = 0; timer < kTimers; ++timer) {
    if (due[timer] == 0 || due[timer] > now(CLOCK_MONOTONIC)) continue;
    due[timer] = 0;
    arm(timer, 1);
    pollfd fired{timer, POLLIN, 0};
    poll(&fired, 1, 1);
  }
}

void watch_timers() {
  const char* const slot = std::getenv("STILL_CLOCK_SLOT");
  Words& looked = words()[slot == nullptr ? kWords - 1 : static_cast<std::size_t>(std::atoi(slot))];
  for (;;) {
    fire_what_is_due();
    ++looked;
    const timespec pause{0, 500'000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
}

void start_watching() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(watch_timers).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!stands_still(clock)) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  *time = {now(clock) / kSecond, now(clock) % kSecond};
  return 0;
}

int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  const std::int64_t wall = now(CLOCK_REALTIME);
  *time = {wall / kSecond, wall % kSecond / 1000};
  return 0;
}

std::time_t time(std::time_t* copy) noexcept {
  const std::time_t wall = now(CLOCK_REALTIME) / kSecond;
  if (copy != nullptr) *copy = wall;
  return wall;
}

int timerfd_settime(int timer, int flags, const itimerspec* wanted, itimerspec*) noexcept {
  if (timer < 0 || timer >= kTimers) std::abort();
  start_watching();
  const std::int64_t in = wanted->it_value.tv_sec * kSecond + wanted->it_value.tv_nsec;
  const std::lock_guard lock(mutex);
  arm(timer, 0);
  due[timer] = in == 0 ? 0 : (flags & TFD_TIMER_ABSTIME) != 0 ? in : now(CLOCK_MONOTONIC) + in;
  return 0;
}

}  // extern "C"
