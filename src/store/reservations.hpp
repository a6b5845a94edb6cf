// The reservations of a table: their moments, what was charged for each, and what cancelled ones left.
//
// Any thread may call anything at any time. Plain checks know nothing of it: they see what reservations have
// charged, so they never pass those who wait, and take no holes.
//
// Locks: the lines of the keys of a request are locked while it is decided, in the order of their stripes; a
// shelf of reservations is locked alone, or after lines. The table's own come last.
//
// Bounded: `Bounds`, and what is over is cleared away as others come. Not for: waiting until a moment comes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/joint_check.hpp"
#include "store/line.hpp"
#include "store/reservation_id.hpp"
#include "store/spin.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::store {

class Reservations {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Bounds {
    std::size_t reservations = std::size_t{1} << 20;  // that can be cancelled or settled; no more are granted
    std::size_t holes = std::size_t{1} << 20;         // more are lost
  };

  // What is told of it, as far as it has been cleared away.
  struct Counts {
    std::uint64_t open = 0;        // reservations that may be cancelled or settled
    std::uint64_t holes = 0;       // moments that nobody has taken over
    std::uint64_t lost_holes = 0;  // ever, for lack of room

    friend bool operator==(const Counts&, const Counts&) = default;
  };

  Reservations(Table& table, Bounds bounds);
  explicit Reservations(Table& table) : Reservations(table, Bounds{}) {}
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  // The three verbs. The checks of the first have their hashes and are well formed, and all their limits are
  // gcra's.
  void reserve(Request& request, Moment when);
  void cancel(Request& request, nanoseconds now);
  void settle(Request& request, nanoseconds now);

  // Table::give_back() of what a check has charged. Nothing while a moment of the key is ahead, a hole waits
  // for somebody or a hold is open: each counts on what was owed before it.
  void give_back(const Check& charged, nanoseconds charged_at, nanoseconds now);

  // Table::reset() of a key, and what was reserved under it can no longer be cancelled or settled.
  bool reset(std::uint64_t hash, nanoseconds now);

  Counts counts() const;

  // For a snapshot, whose header says when `now` was. Hands over pieces of bytes until it is told false. Of
  // each key that somebody has reserved it holds the state, too, as of one moment; a reservation that is
  // cancelled or settled meanwhile is left out, and its units are lost rather than given back twice.
  void copy(nanoseconds now, const std::function<bool(std::string_view)>& put);
  // Before anybody asks. `then` is when copy() had its `now`, on this clock. The states take the place of the
  // table's. False when the bytes are not what copy() writes.
  bool restore(std::string_view bytes, nanoseconds then, nanoseconds now);

 private:
  static constexpr std::size_t kStripes = 64;

  // What a reservation has charged to one key.
  struct Part {
    std::uint64_t hash = 0;
    std::uint64_t epoch = 0;  // of the key's line
    Quota quota = Quota::per(1, std::chrono::seconds{1});
    std::uint64_t units = 0;
    core::Charge charge{};  // nothing of one that took over a part of a hole
    std::uint64_t end = 0;  // the tat at which it has drained
    bool settles = true;
    bool shadow = false;
    std::uint64_t hold = 0;    // its number in the line
    std::uint64_t number = 0;  // Line::count_part()
  };
  struct Record {
    nanoseconds moment;
    nanoseconds until;  // it can be settled
    std::vector<Part> parts;
    std::multimap<nanoseconds, ReservationId>::iterator due;
  };
  struct Shelf {
    SpinLock mutex;
    std::map<ReservationId, Record> records;
    std::multimap<nanoseconds, ReservationId> due;  // by Record::until
  };
  struct Stripe {
    SpinLock mutex;
    std::unordered_map<std::uint64_t, Line> lines;  // by the key's hash
    std::multimap<nanoseconds, std::uint64_t> due;  // some time up to Line::until()
  };
  // Stripes, locked.
  class Locked;

  template <class Archive>
  static void transfer(Archive& archive, Part& part);
  void put_back(ReservationId id, Record record);
  Stripe& stripe_of(std::uint64_t hash) { return stripes_[hash >> 58]; }
  Shelf& shelf_of(ReservationId id) { return shelves_[id.low % kStripes]; }
  Line* find_line(std::uint64_t hash, std::uint64_t epoch);
  Line& line_for(std::uint64_t hash, nanoseconds until);
  void count_by(const Check& check);
  void clear_away(Stripe& stripe, nanoseconds now);
  void clear_away(Shelf& shelf, nanoseconds now);

  bool reserve_now(Request& request, Moment when);
  void reserve_later(Request& request, Moment when);
  bool holds_fit(Request& request, nanoseconds now);
  std::optional<Part> take_hole(Request& request, nanoseconds now);
  void keep(Request& request, std::vector<Part> parts, nanoseconds now);
  bool take_back(const Part& part, nanoseconds moment, nanoseconds now);
  std::optional<Record> take_record(ReservationId id, nanoseconds now, bool before_its_moment);

  Table& table_;
  const Bounds bounds_;
  ReservationIds ids_;
  std::atomic<std::uint64_t> epochs_{0};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> holes_{0};
  std::atomic<std::uint64_t> lost_holes_{0};
  std::array<Stripe, kStripes> stripes_;
  std::array<Shelf, kStripes> shelves_;
};

}  // namespace weir::store
