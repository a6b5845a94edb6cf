// The reservations of a table: the ledgers of their keys (key_ledger.hpp), their slots, and who has charged
// what. A key is in a ledger while something of it is open or paused; its state in the table says so.
//
// Any thread may call anything at any time.
//
// Locks: the ledgers of the keys of a request are locked while it is decided, in the order of their stripes;
// a shelf of reservations is locked alone, or after ledgers. The table's own come last.
//
// Bounded by a ReservationMemory: what is over is cleared away as others come. One that finds it full acts
// now or is refused, as is one with a hold and what a client pauses; a penalty is not kept then. A key's
// ledger counts as what keeps it longest.
//
// Not for: waiting until a moment comes (src/waiting).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/random.hpp"
#include "store/all_or_none_check.hpp"
#include "store/key_holds.hpp"
#include "store/key_ledger.hpp"
#include "store/penalty_book.hpp"
#include "store/reservation_id.hpp"
#include "store/reservation_memory.hpp"
#include "store/slots.hpp"
#include "store/sorted_chunks.hpp"
#include "store/spin.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::store {

class Reservations final : public LedgerKeys {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::size_t kMemory = std::size_t{64} << 20;
  // About the bytes that a key's ledger takes, one grant there, and what else is kept of a reservation.
  static constexpr std::size_t kLedgerBytes = 640;
  static constexpr std::size_t kGrantBytes = 176;
  static constexpr std::size_t kRecordBytes = 288;
  static constexpr std::size_t kPartBytes = 160;

  // What is told of it, as far as it has been cleared away.
  struct Counts {
    std::uint64_t open = 0;             // reservations that may be cancelled or settled
    std::uint64_t refused = 0;          // ever: reservations and pauses, for lack of room
    std::uint64_t pauses_not_kept = 0;  // ever: penalties, and pauses of a snapshot, for lack of room
    std::uint64_t not_restored = 0;     // of a snapshot, for lack of room: keys' ledgers and reservations
    std::uint64_t holds_expired = 0;    // ever: holds that their time has ended

    friend bool operator==(const Counts&, const Counts&) = default;
  };

  // The table knows it from then on, and must outlive it.
  explicit Reservations(Table& table, std::size_t memory = kMemory,
                        const core::Random& random = core::random_key,
                        std::size_t penalty_memory = PenaltyBook::kMemory);
  ~Reservations();
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  // The verbs. The checks of the first have their hashes and are well formed, and all their limits are
  // gcra's, slots, or counted at the grant.
  void reserve(Request& request, Arrival when);
  void reserve_rates(Request& request, Arrival when);  // the same where none of them is of slots
  // Of checks some of which are of slots.
  void look(Request& request, nanoseconds now);
  void cancel(Request& request, nanoseconds now);
  void settle(Request& request, nanoseconds now);
  void moment(Request& request, nanoseconds now);
  void extend(Request& request, nanoseconds now);
  // Its checks have their hashes. Costs up to OpenHold::kMost a check.
  void holds(Request& request, nanoseconds now);
  // Of a charge that pauses: its checks are as for reserve(), and it has no guarantees.
  void pause(Request& request, nanoseconds now);
  // Of a request that has been denied: those of its keys that it has breached rest, and what it is told of
  // its checks is of after that.
  void penalise(Request& request, nanoseconds now);
  // Of a charge that refunds.
  void refund(Request& request, nanoseconds now);

  // Of keys that are in ledgers.
  bool check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, Charging* charging,
                 TakeTerms* taking) override;
  void look(std::span<Check> checks, nanoseconds now) override;

  // Table::give_back() of what a check has charged. Nothing while the key is in a ledger.
  void give_back(const Check& charged, nanoseconds charged_at, nanoseconds now);

  // Table::raise() of a key.
  bool raise(std::uint64_t hash, const Quota& quota, std::uint64_t tat, nanoseconds now);

  // Table::reset() of a key, and what was reserved under it can no longer be cancelled or settled, and how
  // often it was breached is forgotten.
  bool reset(std::uint64_t hash, nanoseconds now);

  Counts counts() const;
  // Which place a check's hash is of; and whom to tell, under locks, when a slot there is free. Before
  // anybody asks.
  static std::uint64_t place_of(std::uint64_t hash) { return Segments::hash_of(Segments::place_of(hash)); }
  void when_freed(std::function<void(std::uint64_t place)> call) { freed_ = std::move(call); }
  // Whom to tell, under locks, that something of this place_of() was given back or charged from outside.
  // Before anybody asks.
  void when_owed_changes(std::function<void(std::uint64_t place)> call) { owed_changed_ = std::move(call); }
  // The same, that nobody acts there before `end`; and whether the key is afresh then.
  void when_paused(std::function<void(std::uint64_t place, nanoseconds end, bool afresh)> call) {
    paused_ = std::move(call);
  }
  // The open holds that have slots, by Limit::id. Costs as many as there are.
  std::unordered_map<std::uint64_t, std::uint64_t> in_flight(nanoseconds now);
  const ReservationMemory& memory() const { return memory_; }
  const PenaltyBook& penalties() const { return penalties_; }

  // Before the table is copied for the same snapshot as copy().
  void begin_copy();
  // For a snapshot, whose header says when `now` was. Hands over pieces of bytes until it is told false. Of
  // each key that is in a ledger it holds that, too, as of one moment; a reservation that is
  // cancelled or settled meanwhile is left out, and its units are lost rather than given back twice.
  void copy(nanoseconds now, const std::function<bool(std::string_view)>& put);
  // Before anybody asks. `then` is when copy() had its `now`, on this clock. The states take the place of the
  // table's. Those that are bound end, unless their connections go on here; so do reservations and pauses for
  // which there is no room, whose keys owe what they owed. False when the bytes are not what copy() writes.
  bool restore(std::string_view bytes, nanoseconds then, nanoseconds now, bool connections_go_on = false);

 private:
  static constexpr std::size_t kStripes = 64;

  // What a reservation has charged to one key.
  struct Part {
    std::uint64_t hash = 0;
    std::uint64_t epoch = 0;  // of the key's ledger, slots or windows
    Quota quota = Quota::per(1, std::chrono::seconds{1});
    KeyLedger::Own own{};  // its units, and in the ledger its place
    bool settles = true;   // Holding
    bool shadow = false;
    bool by_actual = true;    // Holding
    std::uint64_t limit = 0;  // Limit::id
    bool is_slot = false;     // it has charged nothing, and has a slot
    bool is_window = false;   // it is counted in a window that ends at window_end
    bool is_dated = false;    // and that is of the calendar: its id is window_id
    std::uint64_t window_end = 0;
    std::uint64_t window_id = 0;

    // It is a rate's, and cost nothing until it is settled for more.
    bool is_uncharged() const { return !is_slot && !is_window && own.units == 0; }
    bool is_in_ledger() const { return !is_slot && !is_window && own.units != 0; }
    bool is_listed() const { return is_in_ledger() && settles && !shadow; }
  };
  struct Record {
    nanoseconds moment;
    nanoseconds until;  // it can be settled; in Shelf::due, and the end of its slots
    std::vector<Part> parts;
    ReservationMemory::Share share;
    bool held = false;
    bool bound = false;      // as ReservationTerms has it
    nanoseconds longest{0};  // the least of Holding::longest
    std::string address{};   // as ReservationTerms has it; no snapshot does
    bool is_plan = false;    // it may be cancelled until it is asked for its moment
  };
  // One without a hold whose moment has come: a pause that lies over that is told of it, too.
  struct Acted {
    struct Key {
      std::uint64_t hash;
    };
    ReservationId id;
    nanoseconds moment;
    nanoseconds told_until;
    std::vector<Key> keys;  // of its rates
  };
  struct Shelf {
    SpinLock mutex;
    std::unordered_map<ReservationId, Record, ReservationId::Hash> records WEIR_GUARDED_BY(mutex);
    SortedChunks<std::pair<nanoseconds, ReservationId>> due WEIR_GUARDED_BY(mutex);  // by Record::until
    // Those without a hold whose moment has come.
    std::deque<Acted> acted WEIR_GUARDED_BY(mutex);
  };
  struct KeptLedger {
    KeyLedger ledger;
    std::uint64_t epoch = 0;
    core::Rule rule;       // it was last counted by
    nanoseconds until{0};  // somebody keeps it
    ReservationMemory::Share share{};
    KeyHolds holds{};
  };
  struct Stripe {
    SpinLock mutex;
    // By place_of().
    std::unordered_map<std::uint64_t, KeptLedger> ledgers WEIR_GUARDED_BY(mutex);
    std::unordered_map<std::uint64_t, KeySlots> slots WEIR_GUARDED_BY(mutex);  // none empty
    // Part::epoch of windows. One that a snapshot has brought has 0: what it gave back may have been copied
    // before it was, and must not go back again.
    std::uint64_t resets WEIR_GUARDED_BY(mutex) = 1;
    // While the table is copied: the keys that are in no ledger any more, and their states.
    using Left = std::vector<std::pair<std::uint64_t, core::TwoWords>>;
    std::optional<Left> left WEIR_GUARDED_BY(mutex);
    // When to look whether one is idle.
    std::multimap<nanoseconds, std::uint64_t> due WEIR_GUARDED_BY(mutex);
  };
  // For how long it is told of one without a hold that its moment has come, and of how many of a shelf.
  static constexpr nanoseconds kTold = std::chrono::seconds{60};
  static constexpr std::size_t kMostTold = 1024;
  // And how long after its moment a plan without a hold stays open.
  static constexpr nanoseconds kPlanned = kTold;

  // What keeps the ledgers of a request's keys, by check.
  using Shares = std::array<ReservationMemory::Share, kMostChecks>;

  // Stripes, locked.
  class Locked;
  // What is asked for beside the checks, while it is decided.
  struct Draft;

  template <class Archive>
  static void transfer(Archive& archive, Part& part);
  template <class Archive>
  static void transfer(Archive& archive, ReservationId& id, Record& record);
  template <class Archive>
  static void transfer(Archive& archive, KeptLedger& kept, ReservationMemory::Kind& kind);
  struct Restored;
  bool restore_record(ReservationId id, Record record, const Restored& restored, nanoseconds now);
  bool take_memory(Record& record);
  void end_copy();
  KeptLedger* restore_ledger(std::uint64_t hash, KeptLedger kept, ReservationMemory::Kind kind,
                             nanoseconds now);
  void put_back(ReservationId id, Record record, nanoseconds now);
  void end(ReservationId id, nanoseconds now);
  Stripe& stripe_of(std::uint64_t hash) { return stripes_[hash >> 58]; }
  Shelf& shelf_of(ReservationId id) { return shelves_[id.low % kStripes]; }

  // All of them under the lock of the key's stripe.
  KeptLedger* find_ledger(Stripe& stripe, std::uint64_t hash, nanoseconds now) WEIR_REQUIRES(stripe.mutex);
  KeptLedger* find_ledger(std::uint64_t hash, nanoseconds now);
  KeptLedger* find_ledger(const Part& part, nanoseconds now);
  Ledgers find_ledgers(std::span<const Check> checks, nanoseconds now);
  KeptLedger& keep_ledger(Stripe& stripe, std::uint64_t hash, KeyLedger ledger, const core::Rule& rule,
                          nanoseconds until, ReservationMemory::Share share) WEIR_REQUIRES(stripe.mutex);
  void put_state(std::uint64_t hash, KeptLedger& kept, nanoseconds now);
  void clear_away(Stripe& stripe, nanoseconds now) WEIR_REQUIRES(stripe.mutex);
  void clear_away(Shelf& shelf, nanoseconds now) WEIR_REQUIRES(shelf.mutex);
  void clear_away_all(nanoseconds now);

  static KeySlots* find_slots(Stripe& stripe, std::uint64_t hash) WEIR_REQUIRES(stripe.mutex);
  KeySlots* find_slots(std::uint64_t hash);
  KeySlots& make_slots(Stripe& stripe, std::uint64_t hash, std::uint64_t limit) WEIR_REQUIRES(stripe.mutex);
  bool free_slot(Stripe& stripe, std::uint64_t hash, ReservationId id, nanoseconds end)
      WEIR_REQUIRES(stripe.mutex);
  bool has_slot(const Part& part, ReservationId id, nanoseconds end);
  bool free_slot(const Part& part, ReservationId id, nanoseconds end);
  void free_ended(std::uint64_t hash, nanoseconds now);
  void free_ended(std::span<const Check> checks, nanoseconds now);
  bool slots_fit(Request& request, nanoseconds now);
  void decide_slots(std::span<Check> checks, nanoseconds now);
  void look_at_slots(Request& request, nanoseconds now);
  void take_slots(Request& request, nanoseconds now, Draft& asked);

  void look_all(std::span<Check> checks, nanoseconds now);
  bool penalise(const Check& check, nanoseconds now);
  bool is_breached(const Check& check, nanoseconds now);
  void pause(std::span<Check> checks, Charging& charging, Shares& shares, nanoseconds now);

  bool reserve_now(Request& request, Arrival when);
  void reserve_later(Request& request, Arrival when);
  static std::size_t bytes_of(const Request& request);
  static std::size_t bytes_of(bool is_slot, bool holds);
  void make_room(std::uint64_t client, std::size_t bytes, ReservationMemory::Kind kind, nanoseconds now);
  ReservationMemory::Full take_ledgers(std::span<const Check> checks, nanoseconds until, nanoseconds now,
                                       std::uint64_t client, ReservationMemory::Kind kind, Shares& shares);
  static bool outlasts(const KeptLedger& kept, nanoseconds until, ReservationMemory::Kind kind);
  bool take_memory(Request& request, Draft& asked, nanoseconds now);
  void refuse_full(Request& request, ReservationMemory::Full full, ReservationMemory::Kind kind);
  void decide(Request& request, Arrival when, Draft& asked);
  bool holds_fit(Request& request, nanoseconds now);
  nanoseconds may_be_sooner_by(const Request& request, nanoseconds now);
  Part part_of_window(const Check& check, core::TwoWords state);
  std::optional<core::TwoWords> give_back(const Part& window, std::uint64_t units, nanoseconds now);
  template <class Change>
  std::optional<std::uint64_t> change_dated(const Part& window, nanoseconds now, const Change& change);
  void keep(Request& request, Draft& asked, nanoseconds now);

  std::optional<Record> copy_record(ReservationId id, nanoseconds now);
  std::optional<Record> take_record(ReservationId id, nanoseconds now);
  void forget_due(Shelf& shelf, ReservationId id, const Record& record) WEIR_REQUIRES(shelf.mutex);
  bool is_there(ReservationId id, const Record& record, nanoseconds now);
  using HoldsFound = std::vector<std::pair<ReservationId, std::uint64_t>>;
  void find_holds(const Check& check, nanoseconds now, HoldsFound& into);
  std::optional<std::pair<nanoseconds, OpenHold>> describe_hold(ReservationId id, std::uint64_t cost,
                                                                nanoseconds now);
  bool has_window(const Part& part, nanoseconds now) const;
  bool may_act(const Record& record, nanoseconds now);
  void act_on_plan(ReservationId id, nanoseconds now);
  static void note_acted(Shelf& shelf, ReservationId id, const Record& record, nanoseconds told_until)
      WEIR_REQUIRES(shelf.mutex);
  void cancel_before(Request& request, nanoseconds now);
  std::optional<Acted> find_acted(ReservationId id);
  bool has_acted(const Acted& acted, nanoseconds now);
  void cancel_all(ReservationId id, const Record& record, ReservationTerms& asked, nanoseconds now);
  bool cancel(const Part& part, ReservationId id, const Record& record, nanoseconds now);
  static std::optional<std::string> settle_parts(const Record& record, const ReservationTerms& asked,
                                                 std::vector<std::uint64_t>& costs);
  void settle(const Part& part, std::uint64_t actual, ReservationId id, const Record& record,
              ReservationTerms& asked, nanoseconds now);
  void settle_uncharged(const Part& part, std::uint64_t actual, ReservationTerms& asked, nanoseconds now);
  void settle_window(const Part& part, std::uint64_t actual, ReservationTerms& asked, nanoseconds now);
  void settle_dated(const Part& part, std::uint64_t actual, ReservationTerms& asked, nanoseconds now);

  Table& table_;
  ReservationMemory memory_;
  PenaltyBook penalties_;
  ReservationIds ids_;
  std::function<void(std::uint64_t)> freed_ = [](std::uint64_t) {};
  std::function<void(std::uint64_t)> owed_changed_ = [](std::uint64_t) {};
  std::function<void(std::uint64_t, nanoseconds, bool)> paused_ = [](std::uint64_t, nanoseconds, bool) {};
  std::atomic<std::uint64_t> epochs_{0};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> pauses_not_kept_{0};
  std::atomic<std::uint64_t> not_restored_{0};
  std::atomic<std::uint64_t> holds_expired_{0};
  std::array<Stripe, kStripes> stripes_;
  std::array<Shelf, kStripes> shelves_;
};

}  // namespace weir::store
