// Denials that need not be asked for again: one memory for all event loops of a process.
//
// A denial tells the store's state, a tat or what a window has left and when it ends, and neither leaves more
// room but by time: until that leaves room, the key is denied here, and the numbers count down. It is
// recalled only while it is what the store would say, as far as this process can see:
//
// - for the same numbers, and for costs and classes that this state denies: what denies one class may leave
//   room for a more important one, and before a told moment there may be room for less;
// - until something leaves for the store that may change the key: a check that the state does not deny or of
//   other numbers, a reset, a give-back; and not while a check that was sent before may yet be charged, so
//   that checks are answered in the order in which they came;
// - for kReask after it was asked for, and no longer than the whole burst takes to drain, however long the
//   denial itself may be. What this process cannot see (other processes; a clock of the store that steps) is
//   thus outdated by kReask at most. One that lasts, of a window whose keys nobody resets or gives back to,
//   is recalled until the window's end.
//
// Any thread. Bounded: each slot remembers one key and forgets it for the next, which only costs a question.
// Keys that share a slot may keep each other from being remembered, never the reverse.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/rule.hpp"
#include "store/spin.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::redis {

class DenialMemory {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr nanoseconds kReask = std::chrono::seconds{1};
  static constexpr std::size_t kSlotBytes = 128;
  static constexpr std::size_t kBytes = std::size_t{2} << 20;

  explicit DenialMemory(std::size_t bytes = kBytes);  // one slot at least
  ~DenialMemory();
  DenialMemory(const DenialMemory&) = delete;
  DenialMemory& operator=(const DenialMemory&) = delete;

  std::optional<Decision> recall(std::uint64_t key, const core::Rule& rule, Cost cost, nanoseconds now) const;

  // A check that may charge leaves for the store. Each is followed by one of the two below, with the stamp.
  // What one asker asks for a key is answered in that order.
  using Stamp = std::uint32_t;
  Stamp ask(std::uint64_t key, const core::Rule& rule, Cost cost, const void* asker);
  // It was denied; `asked` and `answered` are when the question went out and its answer came, on our clock.
  // `to_the_end`: of its window. `for_as_much`: somebody is told a later moment, and what wants less may fit
  // before that.
  enum class Holds : std::uint8_t { by_what_is_owed, to_the_end, for_as_much };
  void denied(std::uint64_t key, const core::Rule& rule, Cost cost, const Decision& denial, nanoseconds asked,
              nanoseconds answered, Stamp stamp, Holds holds = Holds::by_what_is_owed);
  // It was charged, or nobody knows.
  void charged(std::uint64_t key);

  // Something else may have changed the key: to be called when it leaves, and when it is answered.
  void forget(std::uint64_t key);

 private:
  struct Numbers {  // of a rule: all that decisions depend on
    static Numbers of(const core::Rule& rule);
    std::int64_t burst = 0;
    nanoseconds time{0};    // gcra's emission interval, or a window's period
    std::uintptr_t by = 0;  // its calendar, else its algorithm
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  struct Denial;
  struct Slot;
  static std::optional<Decision> told(const Denial& denial, const core::Rule& rule, nanoseconds elapsed,
                                      nanoseconds lag, Cost cost);
  Slot& slot_of(std::uint64_t key) const;

  std::size_t slot_count_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace weir::redis
