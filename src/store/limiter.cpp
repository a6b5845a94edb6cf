#include "weir/limiter.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "core/gcra.hpp"
#include "store/clock.hpp"
#include "store/table.hpp"

namespace weir {

Limiter::Limiter(Quota quota) : quota_(quota) {}

Decision Limiter::check(Cost cost) { return check_at(steady_now(), cost); }

Decision Limiter::check_at(std::chrono::nanoseconds now, Cost cost) {
  const auto interval = static_cast<std::uint64_t>(quota_.emission_interval().count());
  // Relaxed suffices: the tat is all there is, nothing else is published with it.
  std::uint64_t tat = tat_.load(std::memory_order_relaxed);
  for (;;) {
    const gcra::Step step = gcra::decide(quota_, {tat, interval}, now, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed)) {
      return step.decision();
    }
  }
}

KeyedLimiter::KeyedLimiter(Quota quota, Options options)
    : quota_(quota), table_(std::make_unique<Table>(options.memory, options.when_full)) {}

KeyedLimiter::~KeyedLimiter() = default;

Decision KeyedLimiter::check(std::string_view key, Cost cost) { return check_at(steady_now(), key, cost); }

Decision KeyedLimiter::check_at(std::chrono::nanoseconds now, std::string_view key, Cost cost) {
  return table_->check(table_->locate(key), quota_, cost, now);
}

void KeyedLimiter::check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost) {
  // As many misses as a core keeps in flight, and no more than its first-level cache keeps.
  constexpr std::size_t kChunk = 32;
  std::array<Table::Place, kChunk> places;
  const std::size_t all = std::min(keys.size(), decisions.size());
  for (std::size_t done = 0; done < all; done += kChunk) {
    const std::size_t count = std::min(kChunk, all - done);
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = table_->locate(keys[done + i]);
      table_->prefetch(places[i]);
    }
    const std::chrono::nanoseconds now = steady_now();
    for (std::size_t i = 0; i < count; ++i) {
      // Built in its place: an assignment would copy it (gcra::Step).
      new (&decisions[done + i]) Decision(table_->check(places[i], quota_, cost, now));
    }
  }
}

bool KeyedLimiter::reset(std::string_view key) { return table_->reset(table_->locate(key), steady_now()); }
std::uint64_t KeyedLimiter::live() const { return table_->live(steady_now()); }
std::uint64_t KeyedLimiter::capacity() const { return table_->capacity(); }
std::uint64_t KeyedLimiter::refused() const { return table_->refused(); }

}  // namespace weir
