// What is known of the store's keys without asking it: remembered denials, resets, leases, how far the
// store's clock can be believed, and what the fallback is to continue from.
//
// Asked before a check leaves, told when it leaves, and told what became of it. Denials, resets and the clock
// are the process's (process_memory.hpp), leases and pressed keys are one event loop's.
//
// One thread; the clock is handed in. Not for: asking the store, or answering requests (shared_store.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/rule.hpp"
#include "redis/fallback.hpp"
#include "redis/kept_check.hpp"
#include "redis/leases.hpp"
#include "redis/pressed_keys.hpp"
#include "redis/process_memory.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Knowledge {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Options {
    bool remember_denials = true;
    std::uint64_t lease_parts = 1;  // stores among which what a limit leases is divided
  };

  // Both must outlive this.
  Knowledge(ProcessMemory& memory, Fallback& fallback, Options options)
      : memory_(memory), fallback_(fallback), options_(options) {}
  Knowledge(const Knowledge&) = delete;
  Knowledge& operator=(const Knowledge&) = delete;

  // Of a key, for all that is asked here.
  std::uint64_t hash_of(std::uint64_t limit_id, std::string_view key) const {
    return memory_.hash_of(limit_id, key);
  }
  // How often the key has been reset, or paused, and that it is now: leases of before are not spent after it.
  std::uint32_t resets_of(std::uint64_t hash) const { return memory_.resets.of(hash).load(); }
  void forget(std::uint64_t hash);

  // A denial that still holds. One may be over earlier than it said, when something was given back.
  std::optional<Decision> recall(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                 nanoseconds now) const;
  void forget_denial(std::uint64_t hash) { memory_.denials.forget(hash); }
  // Whether the key was denied lately.
  bool is_pressed(std::uint64_t hash, nanoseconds now) const { return pressed_.has(hash, now); }

  // A check goes to the store.
  void leaves(KeptCheck& check, Cost cost);
  // What the store has answered to it, or to several alike.
  struct Answered {
    core::Rule rule;                 // that decided
    bool charged = true;             // anything, or nobody knows
    const Decision* last = nullptr;  // of them; none: nobody knows
    bool rests = false;              // a denial of a limit that takes a penalty is after that
    std::string_view state{};        // of the key, as it was told
  };
  void learn(const Answered& answer, const KeptCheck& check, Cost cost, nanoseconds asked, nanoseconds now);
  void learn_of_look(const core::Rule& rule, const Decision& seen, const KeptCheck& check, nanoseconds now);

  // An answer says what time it was there, if it says any.
  void hear_clock(const resp::Value& answer, nanoseconds asked, nanoseconds now);
  // What time it is there, about, once it has said so.
  std::optional<nanoseconds> store_time(nanoseconds now) const { return memory_.store_clock.at(now); }
  // What was charged while the store's clock was ahead denies the key until that time has come. Decisions
  // that tell of it, by this state, are told here as they will be once it is cut; then how far ahead its
  // times may lie, and that is to be done.
  std::optional<nanoseconds> cut(const KeptCheck& check, const core::Rule& rule, Cost cost,
                                 const resp::Value& state, std::span<Decision> told, nanoseconds now);

  // Leases: whether such a check takes one, of how many units, and whether it has one to spend.
  bool wants_lease(const store::Limit& limit, Cost cost) const;
  std::uint64_t units_to_lease(const store::Limit& limit, Cost cost) const;
  bool has_lease(const KeptCheck& check, nanoseconds now) const {
    return leases_.has(check.hash, check.limit.rule.quota, check.cost, now, check.resets);
  }
  std::optional<Leases::Spent> spend(std::uint64_t hash, const Quota& quota, Cost cost, std::uint32_t resets,
                                     nanoseconds now) {
    return leases_.spend(hash, quota, cost, now, resets);
  }
  // What is to be given back: a former one's rest, or this one.
  std::optional<Lease> grant(std::uint64_t hash, Lease lease) {
    return leases_.grant(hash, std::move(lease));
  }
  // Those that have ended, or all: what is to be given back.
  std::vector<std::pair<std::uint64_t, Lease>> end_leases(nanoseconds now, bool all) {
    return leases_.end(now, all);
  }
  // That of one key, whatever is left.
  std::optional<Lease> end_lease(std::uint64_t hash) { return leases_.end(hash); }
  bool has_leases() const { return !leases_.empty(); }

 private:
  bool remembers(const core::Rule& rule) const;
  std::optional<nanoseconds> cut_window(const KeptCheck& check, const core::Rule& rule,
                                        std::span<Decision> told, nanoseconds now);
  void owe(const KeptCheck& check, const core::Rule& rule, const Decision& told, nanoseconds now);

  ProcessMemory& memory_;
  Fallback& fallback_;
  Options options_;
  Leases leases_;
  PressedKeys pressed_;
};

}  // namespace weir::redis
