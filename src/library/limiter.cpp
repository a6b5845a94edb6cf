#include "weir/limiter.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/random.hpp"
#include "core/rule.hpp"
#include "core/severity.hpp"
#include "library/default_limit.hpp"
#include "library/limiter_memory.hpp"
#include "library/limiter_word.hpp"
#include "library/units.hpp"
#include "store/charging.hpp"
#include "store/log_table.hpp"
#include "store/spin.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1 {
namespace {

using std::chrono::nanoseconds;
using store::kInLedger;
using store::kLocked;
using store::kMostChecks;
using store::read;
using store::step_of;
using store::submit;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("weir::" + what); }

void require_as_many(const char* where, std::size_t requests, std::size_t decisions) {
  if (requests == decisions) return;
  refuse(std::string(where) + ": " + std::to_string(requests) + " requests and room for " +
         std::to_string(decisions) + " decisions; expected as many");
}

}  // namespace

nanoseconds Limiter::now() const noexcept { return read(clock_); }

std::uint64_t Limiter::unlocked() const noexcept {
  store::Spin spin;
  for (;;) {
    // Relaxed suffices: the tat is all there is, nothing else is published with it.
    if (const std::uint64_t tat = tat_.load(std::memory_order_relaxed); tat != kLocked) return tat;
    spin.wait();
  }
}

Decision Limiter::check(Cost cost) noexcept { return check(read(clock_), cost); }

Decision Limiter::check(nanoseconds now, Cost cost) noexcept {
  std::uint64_t tat = tat_.load(std::memory_order_relaxed);
  for (;;) {
    if (tat >= kInLedger) [[unlikely]] {
      tat = unlocked();
      if (tat == kInLedger) return check_in_ledger(now, cost);
    }
    const core::gcra::Step step = step_of(quota_, tat, now, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed)) {
      return step.decision();
    }
  }
}

Taken Limiter::take_up_to(Cost most, Cost least) {
  store::require_units("Limiter::take_up_to", most, least);
  const nanoseconds now = read(clock_);
  std::uint64_t tat = tat_.load(std::memory_order_relaxed);
  for (;;) {
    if (tat >= kInLedger) [[unlikely]] {
      tat = unlocked();
      if (tat == kInLedger) return take_in_ledger(now, most, least);
    }
    const Cost cost = store::as_many(step_of(quota_, tat, now, Cost{0}).decision(), most, least);
    const core::gcra::Step step = step_of(quota_, tat, now, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed))
      return store::taken(step.decision(), cost);
  }
}

void Limiter::check(std::span<const Cost> costs, std::span<Decision> decisions) {
  require_as_many("Limiter::check", costs.size(), decisions.size());
  const nanoseconds at = now();
  for (std::size_t i = 0; i < costs.size(); ++i) new (&decisions[i]) Decision(check(at, costs[i]));
}

// Two-phase locking in the order of addresses, so that no two threads wait for each other. Acquire and
// release, because a limiter's tat must not be seen older than the lock of another says.
JointDecision check_all(std::span<const LimiterCheck> checks) {
  const std::size_t count = checks.size();
  if (count == 0 || count > kMostChecks) {
    refuse("check_all: " + std::to_string(count) + " limiters are not 1 to " + std::to_string(kMostChecks));
  }
  struct Part {
    Limiter* limiter;
    std::size_t check;
    nanoseconds now;
    std::uint64_t tat = 0;
    std::uint64_t next = 0;
    bool in_ledger = false;

    bool try_lock() {
      tat = limiter->tat_.load(std::memory_order_relaxed);
      if (tat == kLocked || !limiter->tat_.compare_exchange_weak(tat, kLocked, std::memory_order_acquire,
                                                                 std::memory_order_relaxed))
        return false;
      in_ledger = tat == kInLedger;
      return true;
    }
    Decision decide(Cost cost) {
      if (in_ledger) return limiter->ledger_->ledger.decide(limiter->ledger_->rule, now, cost).decision();
      const core::gcra::Step step = step_of(limiter->quota_, tat, now, cost);
      next = step.next.tat;
      return step.decision();
    }
    void charge(Cost cost) {
      if (!in_ledger) {
        tat = next;
      } else if (cost.units != 0) {
        limiter->ledger_->ledger.charge(limiter->ledger_->rule, now, cost);
      }
    }
    void unlock() { limiter->tat_.store(in_ledger ? kInLedger : tat, std::memory_order_release); }
  };
  std::array<Part, kMostChecks> room;
  const std::span<Part> parts(room.data(), count);
  for (std::size_t i = 0; i < count; ++i)
    parts[i] = {.limiter = &checks[i].limiter, .check = i, .now = checks[i].limiter.now()};
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.limiter < b.limiter; });
  for (std::size_t i = 1; i < count; ++i) {
    if (parts[i].limiter == parts[i - 1].limiter) refuse("check_all: one limiter comes twice");
  }
  std::array<Part*, kMostChecks> locks;
  for (std::size_t i = 0; i < count; ++i) locks[i] = &parts[i];
  store::lock_all<Part>({locks.data(), count});
  bool all = true;
  std::array<Decision, kMostChecks> decisions;
  for (Part& part : parts) {
    decisions[part.check] = part.decide(checks[part.check].cost);
    all = all && decisions[part.check].allowed();
  }
  for (Part& part : parts) {
    if (all) part.charge(checks[part.check].cost);
    part.unlock();
  }
  const std::size_t by = core::deciding(count, [&](std::size_t i) { return &decisions[i]; });
  return {decisions[by], by};
}

LocalStore::LocalStore(Options options)
    : local_(std::make_shared<store::LimiterMemory>(options.memory, options.when_full, options.clock)) {}

JointDecision LocalStore::check_all(std::span<const KeyedCheck> checks) {
  JointRequest asked;
  ask("check_all", checks, asked);
  submit(*local_, asked.request, read(local_->clock));
  if (asked.request.fault != Fault::none) refuse("LocalStore::check_all: " + asked.request.why);
  return {asked.request.decision(), asked.request.by};
}

void LocalStore::ask(const char* where, std::span<const KeyedCheck> checks, JointRequest& asked) const {
  const auto refuse_it = [&](const std::string& why) {
    refuse("LocalStore::" + std::string(where) + ": " + why);
  };
  if (checks.empty() || checks.size() > kMostChecks)
    refuse_it(std::to_string(checks.size()) + " limits are not 1 to " + std::to_string(kMostChecks));
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeyedLimiter& limiter = checks[i].limiter;
    if (limiter.local_ != local_) refuse_it("limit " + std::to_string(i) + " has another store");
    const store::DefaultLimit& its = *limiter.limit_;
    store::Check& check = asked.checks[i];
    check.limit = &its.first();
    if (checks[i].quota || its.is_changed())
      check.limit =
          &asked.own[i].emplace(limiter.with("KeyedLimiter::check", checks[i].quota.value_or(its.quota())));
    check.key = checks[i].key;
    check.cost = checks[i].cost;
  }
  asked.request.checks = {asked.checks.data(), checks.size()};
}

KeyedLimiter::KeyedLimiter(Quota quota, Algorithm algorithm, const Clock* clock, std::uint64_t id)
    : clock_(clock) {
  const auto rule = core::Rule::make(quota, algorithm);
  if (!rule) throw std::invalid_argument(rule.error());
  // The one reading of the wall clock.
  if (clock == nullptr) wall_ = std::chrono::system_clock::now().time_since_epoch() - store::steady_now();
  limit_ = std::make_unique<store::DefaultLimit>(store::Limit{.rule = rule->on_clock(wall_), .id = id});
}

KeyedLimiter::KeyedLimiter(Quota quota, Options options)
    : KeyedLimiter(quota, options.algorithm, options.clock, 0) {
  if (core::kept_in_two_words(options.algorithm)) {
    local_ = std::make_shared<store::LimiterMemory>(options.memory, options.when_full, options.clock);
  } else {
    logs_ = std::make_unique<store::LogTable>(quota, options.memory, options.when_full, core::random_key());
  }
}

KeyedLimiter::KeyedLimiter(Quota quota, LocalStore& store, Algorithm algorithm)
    : KeyedLimiter(quota, algorithm, store.local_->clock, ++store.local_->ids) {
  if (!core::kept_in_two_words(algorithm))
    refuse("KeyedLimiter: " + core::name_of(algorithm) + " has no place in a LocalStore");
  local_ = store.local_;
}

KeyedLimiter::~KeyedLimiter() = default;
KeyedLimiter::KeyedLimiter(KeyedLimiter&&) noexcept = default;
KeyedLimiter& KeyedLimiter::operator=(KeyedLimiter&&) noexcept = default;

nanoseconds KeyedLimiter::now() const noexcept { return read(clock_); }

// Our limit with another quota.
store::Limit KeyedLimiter::with(const char* where, const Quota& quota) const {
  store::Limit limit = limit_->first();
  if (quota == limit.rule.quota) return limit;
  limit.rule.quota = quota;
  if (core::has_burst(limit.rule.algorithm)) return limit;
  if (!core::kept_in_two_words(limit.rule.algorithm))
    refuse(std::string(where) + ": " + core::name_of(limit.rule.algorithm) + " counts by one quota only");
  const auto rule = core::Rule::make(quota, limit.rule.algorithm);
  if (!rule) refuse(std::string(where) + ": " + rule.error());
  limit.rule = rule->on_clock(wall_);
  return limit;
}

void KeyedLimiter::set_quota(const Quota& quota) {
  static_cast<void>(with("KeyedLimiter::set_quota", quota));
  limit_->change(quota);
}

Quota KeyedLimiter::quota() const noexcept { return limit_->quota(); }

Decision KeyedLimiter::decide(nanoseconds now, std::string_view key, const store::Limit& limit,
                              Cost cost) noexcept {
  if (logs_) return logs_->check(logs_->locate(key), cost, now);
  store::Table& table = local_->embedded.table();
  return table.check(table.locate(key, limit.rule, limit.id), limit, cost, now, now);
}

Decision KeyedLimiter::check(std::string_view key, Cost cost) noexcept {
  if (limit_->is_changed()) [[unlikely]]
    return check(key, limit_->quota(), cost);
  return decide(now(), key, limit_->first(), cost);
}

Decision KeyedLimiter::check(std::string_view key, const Quota& quota, Cost cost) {
  return decide(now(), key, with("KeyedLimiter::check", quota), cost);
}

Charged KeyedLimiter::charge(std::string_view key, Outside outside) {
  if (limit_->is_changed()) return charge(key, limit_->quota(), outside);
  return charge(key, limit_->first(), outside);
}

Charged KeyedLimiter::charge(std::string_view key, const Quota& quota, Outside outside) {
  return charge(key, with("KeyedLimiter::charge", quota), outside);
}

Charged KeyedLimiter::charge(std::string_view key, const store::Limit& limit, Outside outside) {
  store::Check check{.limit = &limit, .key = key, .cost = Cost{outside.units}};
  if (const auto why = store::cannot_charge({&check, 1}, outside)) refuse("KeyedLimiter::charge: " + *why);
  store::ChargeTerms terms{.outside = outside};
  store::Request request{.checks = {&check, 1}, .verb = store::Verb::charge, .charge = &terms};
  submit(*local_, request, now());
  if (request.fault != Fault::none) throw std::length_error("weir::KeyedLimiter::charge: " + request.why);
  return terms.told;
}

Taken KeyedLimiter::take_up_to(std::string_view key, Cost most, Cost least) {
  if (limit_->is_changed()) return take_up_to(key, limit_->quota(), most, least);
  return take(key, limit_->first(), most, least);
}

Taken KeyedLimiter::take_up_to(std::string_view key, const Quota& quota, Cost most, Cost least) {
  return take(key, with("KeyedLimiter::take_up_to", quota), most, least);
}

Taken KeyedLimiter::take(std::string_view key, const store::Limit& limit, Cost most, Cost least) {
  store::require_units("KeyedLimiter::take_up_to", most, least);
  if (logs_) {
    Cost cost = least;
    const Decision decision = logs_->take(logs_->locate(key), most, now(), cost);
    return store::taken(decision, cost);
  }
  store::Check check{.limit = &limit, .key = key};
  store::TakeTerms terms{.most = most.units, .least = least.units, .unit = {1}};
  store::Request request{.checks = {&check, 1}, .verb = store::Verb::take, .take = &terms};
  submit(*local_, request, now());
  return {check.decision, terms.granted};
}

template <class Key>
void KeyedLimiter::check_each(std::span<const Key> keys, std::span<Decision> decisions, Cost cost) {
  require_as_many("KeyedLimiter::check", keys.size(), decisions.size());
  // As many misses as a core keeps in flight, and no more than its first-level cache keeps.
  constexpr std::size_t kChunk = 32;
  const auto key_of = [](const Key& key) -> std::string_view {
    if constexpr (std::is_same_v<Key, KeyCost>) return key.key;
    if constexpr (!std::is_same_v<Key, KeyCost>) return key;
  };
  const auto cost_of = [&]([[maybe_unused]] const Key& key) {
    if constexpr (std::is_same_v<Key, KeyCost>) return key.cost;
    if constexpr (!std::is_same_v<Key, KeyCost>) return cost;
  };
  const auto by_chunks = [&]<class Store>(Store& store, const auto& locate, const auto& check_in) {
    std::array<typename Store::Place, kChunk> places;
    for (std::size_t done = 0; done < keys.size(); done += kChunk) {
      const std::size_t count = std::min(kChunk, keys.size() - done);
      for (std::size_t i = 0; i < count; ++i) {
        places[i] = locate(key_of(keys[done + i]));
        store.prefetch(places[i]);
      }
      const nanoseconds at = now();
      // Built in its place: an assignment would copy it (StepOf).
      for (std::size_t i = 0; i < count; ++i)
        new (&decisions[done + i]) Decision(check_in(places[i], cost_of(keys[done + i]), at));
    }
  };
  if (logs_) {
    by_chunks(
        *logs_, [&](std::string_view key) { return logs_->locate(key); },
        [&](const store::LogTable::Place& place, Cost of_key, auto at) {
          return logs_->check(place, of_key, at);
        });
  } else {
    store::Table& table = local_->embedded.table();
    std::optional<store::Limit> changed;
    if (limit_->is_changed()) changed = with("KeyedLimiter::check", limit_->quota());
    const store::Limit& limit = changed ? *changed : limit_->first();
    by_chunks(
        table, [&](std::string_view key) { return table.locate(key, limit.rule, limit.id); },
        [&](store::Table::Place place, Cost of_key, auto at) {
          return table.check(place, limit, of_key, at, at);
        });
  }
}

void KeyedLimiter::check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost) {
  check_each(keys, decisions, cost);
}
void KeyedLimiter::check(std::span<const KeyCost> keys, std::span<Decision> decisions) {
  check_each(keys, decisions, Cost{});
}

bool KeyedLimiter::reset(std::string_view key) noexcept {
  if (logs_) return logs_->reset(logs_->locate(key), now());
  store::Check check{.limit = &limit_->first(), .key = key};
  store::Request request{.checks = {&check, 1}, .verb = store::Verb::reset};
  submit(*local_, request, now());
  return request.forgotten != 0;
}
std::uint64_t KeyedLimiter::live() const noexcept {
  return logs_ ? logs_->live(now()) : local_->embedded.table().live(now());
}
std::uint64_t KeyedLimiter::capacity() const noexcept {
  return logs_ ? logs_->capacity() : local_->embedded.table().capacity();
}
std::uint64_t KeyedLimiter::refused() const noexcept {
  return logs_ ? logs_->refused() : local_->embedded.table().refused();
}

}  // namespace weir
