// The reservations of a table: their moments, what was charged for each, and what cancelled ones left.
//
// Any thread may call anything at any time. Plain checks know nothing of it: they see what reservations have
// charged, so they never pass those who wait, and take no holes.
//
// Locks: the schedules of the keys of a request are locked while it is decided, in the order of their
// stripes; a shelf of reservations is locked alone, or after schedules. The table's own come last.
//
// Bounded by a ReservationMemory: what is over is cleared away as others come. One that finds it full acts
// now or is refused, as is one with a hold and what a client pauses; a penalty is not kept then. A key's
// schedule counts as what keeps it longest.
//
// Not for: waiting until a moment comes; what may be taken back of a reservation, and how (schedule.hpp).
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
#include "store/penalty_book.hpp"
#include "store/reservation_id.hpp"
#include "store/reservation_memory.hpp"
#include "store/schedule.hpp"
#include "store/slots.hpp"
#include "store/sorted_chunks.hpp"
#include "store/spin.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::store {

class Reservations final : public ScheduledKeys {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::size_t kMemory = std::size_t{64} << 20;
  // About the bytes that what is kept of one takes, beside its schedules' own.
  static constexpr std::size_t kRecordBytes = 288;
  static constexpr std::size_t kPartBytes = 160;

  // What is told of it, as far as it has been cleared away.
  struct Counts {
    std::uint64_t open = 0;             // reservations that may be cancelled or settled
    std::uint64_t holes = 0;            // moments that nobody has taken over
    std::uint64_t lost_holes = 0;       // ever: for lack of room, and when the key's numbers changed
    std::uint64_t refused = 0;          // ever: reservations and pauses, for lack of room
    std::uint64_t pauses_not_kept = 0;  // ever: penalties, and pauses of a snapshot, for lack of room
    std::uint64_t not_restored = 0;     // of a snapshot, for lack of room: keys' schedules and reservations
    std::uint64_t holds_expired = 0;    // ever: holds that their time has ended
    std::uint64_t settled_lost_units = 0;  // ever: that holds were settled for less by, and nobody took

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

  // Of keys that have schedules.
  bool check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, Charging* charging,
                 TakeTerms* taking) override;
  void look(std::span<Check> checks, nanoseconds now) override;

  // Table::give_back() of what a check has charged. Nothing while a moment of the key is ahead, a hole waits
  // for somebody or a hold is open: each counts on what was owed before it.
  void give_back(const Check& charged, nanoseconds charged_at, nanoseconds now);

  // Table::reset() of a key, and what was reserved under it can no longer be cancelled or settled, and how
  // often it was breached is forgotten.
  bool reset(std::uint64_t hash, nanoseconds now);

  Counts counts() const;
  // Which place a check's hash is of; and whom to tell, under locks, when a slot there is free. Before
  // anybody asks.
  static std::uint64_t place_of(std::uint64_t hash) { return Segments::hash_of(Segments::place_of(hash)); }
  void when_freed(std::function<void(std::uint64_t place)> call) { freed_ = std::move(call); }
  // Whom to tell, under locks, that those who wait at this place_of() act earlier. Before anybody asks.
  void when_moved_up(std::function<void(std::uint64_t place)> call) { moved_up_ = std::move(call); }
  // The open holds that have slots, by Limit::id. Costs as many as there are.
  std::unordered_map<std::uint64_t, std::uint64_t> in_flight(nanoseconds now);
  const ReservationMemory& memory() const { return memory_; }
  const PenaltyBook& penalties() const { return penalties_; }

  // For a snapshot, whose header says when `now` was. Hands over pieces of bytes until it is told false. Of
  // each key that somebody has reserved it holds the state, too, as of one moment; a reservation that is
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
    std::uint64_t epoch = 0;  // of the key's schedule
    Quota quota = Quota::per(1, std::chrono::seconds{1});
    OwnUnits own{};
    bool settles = true;
    bool shadow = false;
    bool by_actual = true;    // Holding
    std::uint64_t limit = 0;  // Limit::id
    bool is_slot = false;     // it has charged nothing, and has a slot
    bool is_window = false;   // `own` has the units that it counted, and the window's end
    bool is_dated = false;    // and that is of the calendar: its id is own.number
  };
  // Its times are those that it was granted; pauses and settlements may have moved it since.
  struct Record {
    nanoseconds moment;
    nanoseconds until;  // it can be settled
    std::vector<Part> parts;
    ReservationMemory::Share share;
    std::uint64_t pauses = 0;  // how many had moved somebody when it was last known to be where it is
    nanoseconds due{0};        // in Shelf::due, and the end of its slots
    bool held = false;
    bool bound = false;      // as ReservationTerms has it
    nanoseconds longest{0};  // the least of Holding::longest
    bool moves_up = false;   // settlements may have moved it, too
    std::string address{};   // as ReservationTerms has it; no snapshot does
  };
  struct Shelf {
    SpinLock mutex;
    std::unordered_map<ReservationId, Record, ReservationId::Hash> records WEIR_GUARDED_BY(mutex);
    SortedChunks<std::pair<nanoseconds, ReservationId>> due WEIR_GUARDED_BY(mutex);  // by Record::due
    std::vector<ReservationId> moved WEIR_GUARDED_BY(mutex);  // overdue, if no pause has moved them
    // Those without a hold that have acted, and until when that is told of them.
    std::deque<std::pair<nanoseconds, ReservationId>> acted WEIR_GUARDED_BY(mutex);
  };
  struct KeySchedule {
    Schedule schedule;
    ReservationMemory::Share share;
  };
  struct Stripe {
    SpinLock mutex;
    // By Segments::hash_of() the key's place.
    std::unordered_map<std::uint64_t, KeySchedule> schedules WEIR_GUARDED_BY(mutex);
    std::unordered_map<std::uint64_t, KeySlots> slots WEIR_GUARDED_BY(mutex);  // by the same; none empty
    // Part::epoch of windows. One that a snapshot has brought has 0: what it gave back may have been copied
    // before it was, and must not go back again.
    std::uint64_t resets WEIR_GUARDED_BY(mutex) = 1;
    // A schedule that is not there any more is over; one with an epoch up to that may have been reset.
    std::uint64_t reset_up_to WEIR_GUARDED_BY(mutex) = 0;
    // Some time up to Schedule::until().
    std::multimap<nanoseconds, std::uint64_t> due WEIR_GUARDED_BY(mutex);
    // Up to then somebody may wait whose schedule is not known: a snapshot had it.
    nanoseconds fixed_until WEIR_GUARDED_BY(mutex){0};
  };
  // For how long it is told of one without a hold that its moment has come, and of how many of a shelf.
  static constexpr nanoseconds kTold = std::chrono::seconds{60};
  static constexpr std::size_t kMostTold = 1024;

  // What keeps the schedules of a request's keys, by check.
  using Shares = std::array<ReservationMemory::Share, kMostChecks>;

  // Stripes, locked.
  class Locked;

  // A schedule while it is used, and its key's state.
  class Used;
  // What is asked for beside the checks, while it is decided.
  struct Draft;

  template <class Archive>
  static void transfer(Archive& archive, Part& part);
  bool take_memory(Record& record);
  void put_back(ReservationId id, Record record, nanoseconds now);
  void end(ReservationId id, nanoseconds now);
  Stripe& stripe_of(std::uint64_t hash) { return stripes_[hash >> 58]; }
  Shelf& shelf_of(ReservationId id) { return shelves_[id.low % kStripes]; }
  static KeySchedule* find_kept(Stripe& stripe, std::uint64_t hash) WEIR_REQUIRES(stripe.mutex);
  static Schedule* find_schedule(Stripe& stripe, std::uint64_t hash) WEIR_REQUIRES(stripe.mutex);
  // Under the locks of their stripes, as what is asked holds them.
  Schedule* find_schedule(std::uint64_t hash);
  Schedule* find_schedule(const Part& part);
  KeySchedule* find_kept(std::uint64_t hash);
  Schedule* make_schedule(std::uint64_t hash, nanoseconds until, ReservationMemory::Share share);
  Schedules find_schedules(std::span<const Check> checks);
  static KeySlots* find_slots(Stripe& stripe, std::uint64_t hash) WEIR_REQUIRES(stripe.mutex);
  KeySlots* find_slots(std::uint64_t hash);
  KeySlots& make_slots(Stripe& stripe, std::uint64_t hash, std::uint64_t limit) WEIR_REQUIRES(stripe.mutex);
  bool free_slot(Stripe& stripe, std::uint64_t hash, ReservationId id, nanoseconds end)
      WEIR_REQUIRES(stripe.mutex);
  bool has_slot(const Part& part, ReservationId id, nanoseconds end);
  bool free_slot(const Part& part, ReservationId id, nanoseconds end);
  void move_slots(std::uint64_t hash, nanoseconds now);
  void free_ended(std::uint64_t hash, nanoseconds now);
  void free_ended(std::span<const Check> checks, nanoseconds now);
  bool slots_fit(Request& request, nanoseconds now);
  void decide_slots(std::span<Check> checks, nanoseconds now);
  void set_due(Shelf& shelf, ReservationId id, Record& record, nanoseconds due) WEIR_REQUIRES(shelf.mutex);
  void unmake(std::span<const std::uint64_t> schedules);
  void clear_away(Stripe& stripe, nanoseconds now) WEIR_REQUIRES(stripe.mutex);
  void clear_away(Shelf& shelf, nanoseconds now) WEIR_REQUIRES(shelf.mutex);
  void look_for_moved(Shelf& shelf, nanoseconds now);
  void move_due(ReservationId id, nanoseconds now);
  void look_for_ended(nanoseconds now);
  std::optional<Record> copy_record(ReservationId id, nanoseconds now);
  nanoseconds moved(const Record& record);
  std::optional<nanoseconds> moment_of(const Record& record, nanoseconds now);
  void clear_away_all(nanoseconds now);

  void look_all(std::span<Check> checks, nanoseconds now);
  void pause(std::span<Check> checks, Charging& charging, Shares& shares, nanoseconds now);
  bool penalise(const Check& check, nanoseconds now);
  bool is_breached(const Check& check, nanoseconds now);

  void look_at_slots(Request& request, nanoseconds now);
  bool reserve_now(Request& request, Arrival when);
  void reserve_later(Request& request, Arrival when);
  static std::size_t bytes_of(const Request& request);
  static std::size_t bytes_of(bool is_slot, bool holds);
  void make_room(std::uint64_t client, std::size_t bytes, ReservationMemory::Kind kind, nanoseconds now);
  ReservationMemory::Full take_schedules(std::span<const Check> checks, nanoseconds until,
                                         std::uint64_t client, ReservationMemory::Kind kind, Shares& shares);
  static bool outlasts(const KeySchedule& kept, nanoseconds until, ReservationMemory::Kind kind);
  bool take_memory(Request& request, Draft& asked, nanoseconds now);
  void refuse_full(Request& request, ReservationMemory::Full full, ReservationMemory::Kind kind);
  void decide(Request& request, Arrival when, Draft& asked);
  bool holds_fit(Request& request, nanoseconds now, const Schedules& schedules);
  bool take_hole(Request& request, nanoseconds now, const Schedules& schedules, Draft& asked);
  void take_slots(Request& request, nanoseconds now, Draft& asked);
  Part part_of_window(const Check& check, const core::Charge& charge);
  std::optional<core::TwoWords> give_back(const Part& window, std::uint64_t units, nanoseconds now);
  template <class Change>
  std::optional<std::uint64_t> change_dated(const Part& window, nanoseconds now, const Change& change);
  void settle_dated(const Part& part, std::uint64_t actual, ReservationTerms& asked, nanoseconds now);
  void keep(Request& request, Draft& asked, nanoseconds now);
  std::optional<Record> take_record(ReservationId id, nanoseconds now);
  bool is_there(ReservationId id, const Record& record);
  using HoldsFound = std::vector<std::pair<ReservationId, std::uint64_t>>;
  void find_holds(const Check& check, nanoseconds now, HoldsFound& into);
  std::optional<std::pair<nanoseconds, OpenHold>> describe_hold(ReservationId id, std::uint64_t cost,
                                                                nanoseconds now);
  bool cancel(const Part& part, const Record& record, std::uint64_t client, nanoseconds now);
  void settle_window(const Part& part, std::uint64_t actual, ReservationTerms& asked, nanoseconds now);
  static std::optional<std::string> settle_parts(const Record& record, const ReservationTerms& asked,
                                                 std::vector<std::uint64_t>& costs);
  void settle(const Part& part, std::uint64_t actual, nanoseconds moment, ReservationTerms& asked,
              nanoseconds now);
  core::TwoWords charge_more(const Part& part, std::uint64_t units, Schedule* schedule,
                             ReservationTerms& asked, nanoseconds now);

  Table& table_;
  ReservationMemory memory_;
  PenaltyBook penalties_;
  ReservationIds ids_;
  std::function<void(std::uint64_t)> freed_ = [](std::uint64_t) {};
  std::function<void(std::uint64_t)> moved_up_ = [](std::uint64_t) {};
  std::atomic<std::uint64_t> epochs_{0};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> holes_{0};
  std::atomic<std::uint64_t> lost_holes_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> pauses_not_kept_{0};
  std::atomic<std::uint64_t> not_restored_{0};
  std::atomic<std::uint64_t> holds_expired_{0};
  std::atomic<std::uint64_t> settled_lost_units_{0};
  std::atomic<std::uint64_t> pauses_{0};  // that have moved somebody, ever
  std::atomic<std::uint64_t> looked_{0};  // whose turn it is of the shelves
  std::array<Stripe, kStripes> stripes_;
  std::array<Shelf, kStripes> shelves_;
};

}  // namespace weir::store
