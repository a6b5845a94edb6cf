// Several checks of one request, charged all or none, wherever their keys are; most requests need less
// (in_place.hpp).
//
// In rounds: lock every bucket that any of the keys may be in, decide all, and if all are allowed find each
// new key a slot and write everything; if a new key finds none, unlock, make room, begin again.
//
// It ends. A slot that a key found, or for which room was made, stays claimed by it from round to round, and
// making room for the next key counts claimed slots as taken (Segments::make_room): in no bucket do the free
// slots fall below those claimed there, except by another thread. So the round after room was made for every
// key has a slot for every key, or
// - a segment was split meanwhile, which happens less often than the table has leaves;
// - another thread filled a claimed slot: Segments::kMostMissed times, then `when_full` decides; or
// - there was no room for a key, and `when_full` has decided for it: it is allowed without an entry, it ends
//   the request, or, where only shadow checks have the key, or checks of a charge, it stays denied and asks
//   for room no more.
// A thread that is alone thus needs two rounds, one for each split, and one for each of those checks without
// room.
//
// A key that is in a ledger is decided and charged there. A reservation is decided so too: first as of now,
// then at its moment (joint_moment.hpp). What is charged afterwards (charging.hpp) always passes, and a key
// without room loses it, unless the charge asks: then `when_full` decides for it. A look asks for the same
// room, and leaves it. What takes as much as there is is decided as often as it needs to find out how much
// (taking.hpp), under the same locks.
//
// One thread, for one call. Not for: finding out which check decides (core/severity.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/reservation.hpp"
#include "core/step.hpp"
#include "store/charging.hpp"
#include "store/joint_moment.hpp"
#include "store/key_ledger.hpp"
#include "store/segments.hpp"
#include "store/store.hpp"
#include "weir/memory.hpp"

namespace weir::inline v0_1::store {

// The ledgers of the checks' keys, by check; null where there is none. Their locks are held. One of a key
// that is in none yet becomes its ledger where a reservation is kept in it.
using Ledgers = std::array<KeyLedger*, kMostChecks>;

// What a reservation asks of its checks, and gets.
struct JointReservation {
  std::chrono::nanoseconds max_wait{0};
  std::chrono::nanoseconds sooner_by{0};  // as ReservationTerms::sooner_by
  std::chrono::nanoseconds hold{0};
  std::chrono::nanoseconds planned{0};  // that it stays open without a hold, where it is told a moment
  std::span<const Line> lines{};        // as ReservationTerms::lines
  // There is a ledger for each of gcra's, and it will be kept in them if it is to wait, or to be held.
  bool keeps = false;
  // By check: what was charged. Nothing for one that was not, or for which the table had no room. Of gcra's
  // `owns`, of windows what the state is then.
  std::array<KeyLedger::Own, kMostChecks> owns{};
  std::array<core::TwoWords, kMostChecks> states{};
  std::chrono::nanoseconds wait{0};  // as ReservationTerms::wait
  std::uint8_t by = 0;               // as Request::by
  bool would_wait = false;           // denied, as it will not be kept

  bool is_kept() const { return keeps && (hold.count() != 0 || wait.count() > 0); }
  // For how long from its moment on.
  std::chrono::nanoseconds open() const { return wait.count() > 0 && hold.count() == 0 ? planned : hold; }
};

class AllOrNoneCheck {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // At most kMostChecks, each with its hash. They, the segments, the ledgers and what is `reserving` must
  // outlive this. Without ledgers it ends at a key that has one (needs_ledgers()).
  AllOrNoneCheck(Segments& segments, WhenFull when_full, std::span<Check> checks, nanoseconds arrived,
                 nanoseconds now, const Ledgers* ledgers = nullptr, JointReservation* reserving = nullptr,
                 Charging* charging = nullptr, TakeTerms* taking = nullptr);
  AllOrNoneCheck(const AllOrNoneCheck&) = delete;
  AllOrNoneCheck& operator=(const AllOrNoneCheck&) = delete;

  // Another round; true when everything is decided.
  bool round();
  // Decides without charging; false when that has to begin again, as for a round.
  bool look();

  bool charged() const { return charged_; }
  // Nothing was decided: the keys' ledgers have to be locked first.
  bool needs_ledgers() const { return needs_ledgers_; }
  // New keys that when_full had to decide.
  std::uint64_t refused() const { return refused_; }

 private:
  // One key of the request, however often it is named.
  struct Key {
    KeyPlace place;
    std::size_t first_check;
    Segments::Homes homes{};
    std::size_t home = 0;  // which of the two has its entry, or is claimed for it
    int slot = -1;         // there; -1: none
    bool known = false;    // it has an entry in the table
    bool claims = false;   // that slot is free, but for this key
    bool charged = false;
    bool in_ledger = false;       // its state says so
    bool ledger_changed = false;  // there
    bool recounted = false;       // by another quota than its debt was counted by
    bool unstored = false;        // allowed for lack of room, by when_full
    bool shut_out = false;        // denied for lack of room, which stops no other check
    core::TwoWords state{};       // after the checks so far; of one that has a ledger as it was found
    KeyLedger* ledger = nullptr;
    std::uint64_t charges = 0;  // there, units of the checks so far
    std::uint64_t soonest = 0;  // without a slot: until the first of its six is free, ns

    Bucket& bucket() const { return *homes[home].bucket; }
    // For a key that is not in the table, or is recounted: not before what was forgotten in its place.
    nanoseconds no_earlier(nanoseconds now) const;
    void find(bool can_be_in_ledger, nanoseconds now);
  };

  // A key is made when it is used: making all of them took longer than deciding three.
  union KeyStorage {
    KeyStorage() {}
    std::array<Key, kMostChecks> keys;
  };

  std::span<Key> keys() { return {keys_, count_}; }
  // Every bucket that any of the keys may be in; empty when a split has just been finished.
  std::span<Bucket*> find_homes(std::span<Bucket*> buckets);
  bool homes_still_hold() const;
  bool lacks_ledgers() const;
  void find_keys();
  bool decide(nanoseconds at);
  void find_those_over(nanoseconds at);
  bool look_at_all();
  bool reserve();
  std::optional<std::uint8_t> full_window() const;
  KeyLedger ledger_of(const Key& key, core::TwoWords state, const core::Rule& rule) const;
  void tell_full(std::size_t window, const JointMoment& rates);
  JointMoment find_moment() const;
  void take_moment(const JointMoment& moment);
  void tell_uncharged();
  void charge(std::size_t which, Key& key, nanoseconds at);
  void charge_in_ledger(std::size_t which, Key& key);
  bool is_guarantee(std::size_t which) const { return (guarantees_ >> which & 1U) != 0; }
  bool find_slots();
  bool find_slot(Key& key);
  void write();
  void write_in_ledger(std::size_t which, Key& key);
  bool put_state_of_ledger(Key& key) const;
  bool make_room();
  bool refuse(Key& key);
  bool only_shadow(const Key& key) const;
  static Decision without_room(const Check& check, const Key& key);

  Segments& segments_;
  WhenFull when_full_;
  std::span<Check> checks_;
  nanoseconds arrived_;
  nanoseconds now_;
  KeyStorage room_;
  Key* const keys_ = room_.keys.data();
  std::array<std::uint8_t, kMostChecks> key_of_;   // by check
  std::array<core::TwoWords, kMostChecks> found_;  // by check: its key's state before the request
  // By check. They are charged as of now: charged from when it came, a request that waited would come into
  // the parent, which may be busy, later than it counts in its guarantee, which is not.
  std::uint32_t guarantees_ = 0;
  std::uint32_t in_ledgers_ = 0;  // a bit for each check that charges in one
  std::size_t count_ = 0;
  const Ledgers* ledgers_;
  JointReservation* reserving_;
  Charging* charging_;
  TakeTerms* taking_;
  bool needs_ledgers_ = false;
  bool had_room_ = false;  // for every key, when the last round ended
  int missed_ = 0;
  bool charged_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace weir::store
