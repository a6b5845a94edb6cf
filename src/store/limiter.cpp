#include "weir/limiter.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>

#include "core/gcra.hpp"
#include "core/rule.hpp"
#include "store/clock.hpp"
#include "store/log_table.hpp"
#include "store/table.hpp"

namespace weir {

Limiter::Limiter(Quota quota) noexcept : quota_(quota) {}

Decision Limiter::check(Cost cost) noexcept { return check_at(store::steady_now(), cost); }

Decision Limiter::check_at(std::chrono::nanoseconds now, Cost cost) noexcept {
  const auto interval = static_cast<std::uint64_t>(quota_.emission_interval().count());
  // Relaxed suffices: the tat is all there is, nothing else is published with it.
  std::uint64_t tat = tat_.load(std::memory_order_relaxed);
  for (;;) {
    const core::gcra::Step step = core::gcra::decide(quota_, {tat, interval}, now, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed)) {
      return step.decision();
    }
  }
}

KeyedLimiter::KeyedLimiter(Quota quota, Options options) : quota_(quota) {
  const auto rule = core::Rule::make(quota, options.algorithm);
  if (!rule) throw std::invalid_argument(rule.error());
  // The one reading of the wall clock.
  rule_ = std::make_unique<const core::Rule>(
      rule->on_clock(std::chrono::system_clock::now().time_since_epoch() - store::steady_now()));
  const core::HashKey seed = store::Table::random_seed();
  if (core::kept_in_two_words(options.algorithm)) {
    table_ = std::make_unique<store::Table>(options.memory, options.when_full, seed);
  } else {
    logs_ = std::make_unique<store::LogTable>(quota, options.memory, options.when_full, seed);
  }
}

KeyedLimiter::~KeyedLimiter() = default;

Decision KeyedLimiter::check(std::string_view key, Cost cost) noexcept {
  const std::chrono::nanoseconds now = store::steady_now();
  if (logs_) return logs_->check(logs_->locate(key), cost, now);
  return table_->check(table_->locate(key, *rule_), *rule_, cost, now, now);
}

Decision KeyedLimiter::check_at(std::chrono::nanoseconds now, std::string_view key, Cost cost) noexcept {
  if (logs_) return logs_->check(logs_->locate(key), cost, now);
  return table_->check(table_->locate(key, *rule_), rule_->on_clock(std::chrono::nanoseconds{0}), cost, now,
                       now);
}

void KeyedLimiter::check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost) {
  // As many misses as a core keeps in flight, and no more than its first-level cache keeps.
  constexpr std::size_t kChunk = 32;
  const std::size_t all = std::min(keys.size(), decisions.size());
  const auto by_chunks = [&]<class Store>(Store& store, const auto& locate, const auto& check_in) {
    std::array<typename Store::Place, kChunk> places;
    for (std::size_t done = 0; done < all; done += kChunk) {
      const std::size_t count = std::min(kChunk, all - done);
      for (std::size_t i = 0; i < count; ++i) {
        places[i] = locate(keys[done + i]);
        store.prefetch(places[i]);
      }
      const std::chrono::nanoseconds at = store::steady_now();
      // Built in its place: an assignment would copy it (StepOf).
      for (std::size_t i = 0; i < count; ++i) new (&decisions[done + i]) Decision(check_in(places[i], at));
    }
  };
  if (logs_) {
    by_chunks(
        *logs_, [&](std::string_view key) { return logs_->locate(key); },
        [&](const store::LogTable::Place& place, auto at) { return logs_->check(place, cost, at); });
  } else {
    by_chunks(
        *table_, [&](std::string_view key) { return table_->locate(key, *rule_); },
        [&](store::Table::Place place, auto at) { return table_->check(place, *rule_, cost, at, at); });
  }
}

bool KeyedLimiter::reset(std::string_view key) noexcept {
  const std::chrono::nanoseconds now = store::steady_now();
  return logs_ ? logs_->reset(logs_->locate(key), now) : table_->reset(table_->locate(key, *rule_), now);
}
std::uint64_t KeyedLimiter::live() const noexcept {
  const std::chrono::nanoseconds now = store::steady_now();
  return logs_ ? logs_->live(now) : table_->live(now);
}
std::uint64_t KeyedLimiter::capacity() const noexcept {
  return logs_ ? logs_->capacity() : table_->capacity();
}
std::uint64_t KeyedLimiter::refused() const noexcept { return logs_ ? logs_->refused() : table_->refused(); }

}  // namespace weir
