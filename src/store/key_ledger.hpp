// What is decided by a key's ledger (ledger.hpp), and what becomes of its grants in the course of time: one
// wiring for every form of limiter.
//
// - A check passes where it fits now, so it may use a moment that somebody has given up, and it does not
//   suffer from a reservation that acts a minute later.
// - A reservation is told the first moment at which it fits, and keeps it: nothing moves.
// - Before that moment it can be cancelled; then, as long as it is held, it can be settled at what it cost.
// - Nobody acts before the end of a pause. Those who were told a moment in it are told, when they ask, to
// begin again. At the end of one that is afresh the key is as if never used but for what acts then or later:
// what is held from before gives nothing back, and what it costs more is owed from then on.
//
// A key that nothing open and no pause has a part in needs none of it: what it owes is one number, and it is
// decided as src/core/gcra.hpp says.
//
// Asked by another T than it was counted by, what is owed counts in units; a denial changes nothing of it.
// A pause counts by the numbers of those who ask, and after it has ended by those of the first who does.
//
// No reading of the clock that lags counts: nothing acts before what was charged at the latest one.
//
// A value without a clock or a lock; one thread. Each call costs the logarithm of what is open, but under
// another T as many. Of gcra alone, whose burst x T is at most core::GrantMap::kMostFull. Not for: whose a
// reservation is (reservations.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/moment.hpp"
#include "core/overdraft.hpp"
#include "core/rule.hpp"
#include "core/step.hpp"
#include "store/ledger.hpp"
#include "store/sorted_chunks.hpp"
#include "store/store.hpp"
#include "weir/charge.hpp"

namespace weir::inline v0_1::store {

class KeyLedger {
  using Time = Ledger::Time;

 public:
  using nanoseconds = std::chrono::nanoseconds;

  // What a reservation has of the key, as its owner keeps it.
  struct Own {
    Ledger::Place place{};
    std::uint64_t units = 0;
    nanoseconds until{0};  // it can be cancelled, or settled
  };

  // Of a key that is in none: in the rule's T, where it owes nothing.
  static KeyLedger of(core::TwoWords state, const core::Rule& rule, nanoseconds now, nanoseconds no_earlier) {
    const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    return KeyLedger({state.until, core::ahead_of(state.until, now) != 0 ? state.word : interval},
                     no_earlier);
  }

  // Otherwise no reservation meets it, as too_long() says.
  static std::string too_long() {
    return "a burst that takes more than 73 years to drain cannot be reserved";
  }
  static bool can_count(const Quota& quota) {
    return quota.emission_interval().count() <= core::GrantMap::kMostFull / quota.burst();
  }

  // Of a key in that state, of which nobody may be told anything as of an earlier time.
  explicit KeyLedger(core::TwoWords state, nanoseconds no_earlier = nanoseconds{0})
      : ledger_(static_cast<Ledger::Time>(state.word), static_cast<Ledger::Time>(state.until)),
        latest_(no_earlier.count()) {}

  // Nothing of it matters but that state: for every rule, or for this one.
  bool is_idle(nanoseconds now);
  bool is_idle(const core::Rule& rule, nanoseconds now);
  // What it owes, while it is idle; and since others have charged it.
  core::TwoWords state() const {
    return {static_cast<std::uint64_t>(std::max<Time>(ledger_.front(), 0)),
            static_cast<std::uint64_t>(ledger_.interval())};
  }
  void owes(std::uint64_t tat) { ledger_.set_front(static_cast<Ledger::Time>(tat)); }
  // Until then it is not idle, if nothing is given back.
  std::uint64_t until(const core::Rule& rule) const;
  bool is_paused(nanoseconds now) const { return ledger_.pause_end() > now.count(); }
  // From then on nobody acts whose moment is known.
  nanoseconds last() const { return nanoseconds{ledger_.last()}; }
  // It owes at least until that, in the rule's T.
  void raise(const core::Rule& rule, std::uint64_t tat, nanoseconds now);

  // As core::decide(), but the next state is not told.
  core::Step decide(const core::Rule& rule, nanoseconds now, Cost cost) const;
  // What decide() has allowed.
  void charge(const core::Rule& rule, nanoseconds now, Cost cost);

  // The ledger as a rule's numbers count it, for a search over several keys.
  class Counted {
   public:
    Counted(const KeyLedger& its, const core::Rule& rule, nanoseconds now, const Line& line);
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    // The first moment from `at` on at which it fits, max() when it never does: beside what its class leaves
    // to others, or with all of the room.
    nanoseconds first(nanoseconds at, Cost cost) const { return first(at, cost, room_); }
    nanoseconds first_at_best(nanoseconds at, Cost cost) const {
      return first(at, cost, {room_.full, room_.full, room_.line});
    }
    // From then on nobody acts whose moment is known.
    nanoseconds last() const { return nanoseconds{ledger_.last()}; }

   private:
    nanoseconds first(nanoseconds at, Cost cost, const Ledger::Room& room) const;

    nanoseconds now_;
    std::optional<Ledger> other_{};
    const Ledger& ledger_;
    Ledger::Room room_;
  };

  // When a reservation would act: `wait` is 0 where it acts now. One that keeps something free acts now or
  // not at all.
  core::Moment moment(const core::Rule& rule, nanoseconds now, Cost cost, nanoseconds max_wait) const;
  // One that acts at such a moment, and stays open until then. Throws std::bad_alloc, and nothing has
  // changed.
  Own reserve(const core::Rule& rule, nanoseconds now, nanoseconds at, std::uint64_t units,
              nanoseconds until);
  // Whether it may act at its moment: the last pause may lie over that.
  bool may_act(const Own& own) const { return may_act_at(nanoseconds{own.place.at}); }
  bool may_act_at(nanoseconds moment) const {
    return moment.count() <= paused_from_ || moment.count() >= paused_until_;
  }
  // It has not acted.
  void cancel(const Own& own);
  // It cost that. The units that nobody will owe, as they would be owed for too long.
  std::uint64_t settle(const core::Rule& rule, const Own& own, std::uint64_t actual, nanoseconds now,
                       nanoseconds overdraft);
  void extend(Own& own, nanoseconds until);
  bool is_open(const Own& own) const;
  // What is owed, as a tat, after all that act.
  std::uint64_t owed(const core::Rule& rule) const;

  // As bytes and back (reservations_copy.cpp).
  template <class Archive>
  void transfer(Archive& archive);

  // As core::overdraw().
  core::Overdrawn charge(const core::Rule& rule, nanoseconds now, const Outside& outside);

 private:
  // Of all that are open, by when they are over.
  struct Open {
    Time until = 0;
    Ledger::Place place{};

    friend bool operator<(const Open& a, const Open& b) {
      return a.until != b.until ? a.until < b.until : a.place.number < b.place.number;
    }
  };

  nanoseconds no_earlier(nanoseconds now) const { return std::max(now, nanoseconds{latest_}); }
  void read(nanoseconds now, std::optional<Time> full);
  void read(const core::Rule& rule, nanoseconds now);
  // By these numbers from now on.
  void count_by(const core::Rule& rule, nanoseconds now);
  bool forget(const Own& own);
  bool is_of(const core::Rule& rule) const;
  // This ledger, or what it is by these numbers.
  const Ledger& counted_by(const core::Rule& rule, nanoseconds now, std::optional<Ledger>& other) const;
  Time first_under(const core::Rule& rule, Time at, std::uint64_t units) const;
  std::uint64_t charge_up_to(Time now, std::uint64_t units, Time most, Time full);
  core::Overdrawn charge_front(const core::Rule& rule, nanoseconds now, const Outside& outside);
  void pause_until(const core::Rule& rule, Time now, const Outside& pause, core::Overdrawn& told);
  void tell(const core::Rule& rule, nanoseconds now, core::Overdrawn& told) const;

  Ledger ledger_;
  Time latest_ = 0;
  Time asked_for_ = 0;  // the tat that the last pause, or what the other side said to be left, asked for
  Time paused_from_ = 0;
  Time paused_until_ = 0;
  SortedChunks<Open> open_;
};

}  // namespace weir::store
