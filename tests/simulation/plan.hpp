// What a seed means: a world, and everything that is asked and that goes wrong in it, as a list.
//
// Events are data, so that a failing list can be made shorter (shrink.hpp): each means the same without any
// of the others, and what refers to another that is gone does nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/chance.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::simulation {

// One state that is counted, as those that ask know it.
struct Key {
  std::string name;
  std::int64_t burst;
  nanoseconds interval;
  bool resets = false;    // it may be reset
  bool reserves = false;  // it may be reserved from
  bool changes = false;   // some ask by half of its rate
  // By a limits file: what it leaves free of the class bulk, and how much of it may be held at a time, in
  // units.
  std::int64_t leaves = 0;
  std::int64_t at_most = 0;  // 0: no bound
  // Of the life of a call (plan_calls.hpp), or of those in line (plan_lines.hpp). What it is for, and nobody
  // else asks for it; the burst is then how many slots there are, or how many units a window has.
  enum class For : std::uint8_t { checks, slots, charges, pauses, penalty, calendar, line, line_slots };
  For use = For::checks;
  std::uint32_t stage = 0;  // of a line: those that are asked for together have one number
  nanoseconds penalty{0};
  nanoseconds most_penalty{0};  // of one that is twice as long each time; 0: it does not grow
  std::string unit{};           // of the calendar
  bool is_slots() const { return use == For::slots || use == For::line_slots; }
  bool is_rate() const { return !is_slots() && use != For::calendar; }
  // Who was told a later moment asks for it before it acts: a pause may lie over it.
  bool asks_first() const { return use == For::pauses || use == For::line; }
  std::string rule(bool slower = false) const {
    if (is_slots()) return "in_flight=" + std::to_string(burst);
    if (use == For::calendar) return std::to_string(burst) + "/" + unit + " align=calendar";
    return "1/" + std::to_string(interval.count() * (slower ? 2 : 1) / 1'000'000) + "ms burst " +
           std::to_string(burst);
  }
};

struct Event {
  enum class Kind : std::uint8_t {
    // What clients do. `who`: which.
    check,
    look,
    reserve,
    acquire,
    cancel,  // what the event number `of` has reserved
    settle,  // the same, for `units`
    charge,  // what happened outside
    refund,
    moment,  // of what the event number `of` has reserved, by now
    extend,  // its hold, to `time` from now
    reset,
    leave,  // closes its connection, whatever it waits for
    // What goes wrong. `who`: a client's connection.
    break_connection,
    half_open,   // bytes of either side are lost from now on, and nobody is told
    stall_out,   // what the client sends is held up for `time`
    stall_back,  // the answers are
    // `who`: a server.
    kill,         // -9, and starts again after `time` from its last snapshot, which `of` has torn
    power_loss,   // the same, and of its disk only what was synced is there
    sleep,        // does nothing for `time`
    disk_slow,    // for `time` a write or a read takes up to 2 s
    disk_full,    // for `time`
    disk_broken,  // for `time` nothing can be read
    upgrade,      // ends, and starts again after `time` with the limits file in the form `of`
    reload,       // of the limits file, in the form `of`
    store_break,  // its connections to the store are reset
    store_stall,  // what it sends to the store is held up for `time`
    store_stall_back,
    save,  // a snapshot
    // `who`: a node of the store.
    store_down,      // for `time`, and keeps what it has
    store_lost,      // the same, and comes back empty
    store_failover,  // a replica takes over that lags by `time`
    store_pause,     // runs nothing for `time`
    store_flush,     // forgets its scripts
    store_step,      // its clock steps by `time`, which may be below 0
    kinds,
  };

  nanoseconds at{0};
  Kind kind = Kind::check;
  std::uint32_t number = 0;  // stays what it is when others are taken out
  std::uint32_t who = 0;
  std::vector<std::uint32_t> keys{};
  std::uint64_t units = 1;
  std::uint64_t least = 0;  // of check: as many of the units as there are, down to that; 0: all of them
  nanoseconds time{0};      // of reserve and acquire: the longest wait
  nanoseconds hold{0};
  std::uint32_t of = 0;
  enum class Form : std::uint8_t { cost, remaining, pause };
  Form form = Form::cost;   // of charge
  bool afresh = false;      // of a pause: at its end the key is as if never used
  bool as_charged = false;  // of settle: for no other units
  bool bound = false;       // the hold ends with its connection, which is closed `keeps` after the grant
  bool resets = false;      // and by an RST
  nanoseconds keeps{0};
  // Of what is granted with a hold: its client settles it that long after it was told, at `spends` units.
  nanoseconds call{0};
  std::uint64_t spends = 0;
  nanoseconds patience{0};  // of acquire: its client goes away after that; 0: it does not
  bool bulk = false;        // its class
  bool slower = false;      // by half of the rate

  bool is_fault() const { return kind >= Kind::break_connection; }
  bool is_by_id() const {
    return kind == Kind::cancel || kind == Kind::settle || kind == Kind::moment || kind == Kind::extend;
  }
};

const char* name_of(Event::Kind kind);
std::string to_text(const Event& event);

// When the first is asked.
inline constexpr nanoseconds kStart = 500ms;
// How long what a limits file lets reserve may be settled, where the request does not say.
inline constexpr nanoseconds kTtl = 3s;
// The longest that a thread stands still between its clock and what it decides by it.
inline constexpr nanoseconds kLag = 200ms;

struct Plan {
  enum class Store : std::uint8_t { embedded, redis, cluster };

  std::uint64_t seed = 0;
  Store store = Store::embedded;
  std::size_t servers = 1;
  std::size_t loops = 1;  // of each server
  std::size_t clients = 1;
  std::vector<bool> http{};  // of each client: what it speaks; the others speak RESP
  std::size_t nodes = 0;     // of the store
  OnStoreError on_store_error = OnStoreError::local;
  double local_share = 1;
  std::uint64_t lease = 0;
  bool merge = false;
  bool lags = false;  // threads stand still between their clock and what they decide by it
  std::size_t reservation_memory = std::size_t{1} << 20;
  std::size_t waiters = 200;
  bool by_file = false;                 // the rules are in a limits file, and not in the requests
  std::vector<std::int64_t> drift_ppm;  // of the servers, then of the nodes
  std::vector<Key> keys;
  nanoseconds new_year{0};  // when every window of the calendar ends; 0: no key has one
  nanoseconds length{0};
  nanoseconds longest_wait{0};
  std::vector<Event> events;  // in the order of time

  std::string to_text() const;
  // The limits file: as it was, in another order, with half of the burst or half of the rate where nobody
  // reserves, and with an error.
  enum Form : std::uint32_t { usual, reversed, half_burst, half_rate, wrong, forms };
  std::string limits_file(std::uint32_t form) const;
  // That key's numbers by that form.
  Key by_form(const Key& key, std::uint32_t form) const;
  std::string rate_by(const Key& key, std::uint32_t form) const;
};

struct PlanOptions {
  std::size_t requests = 16'500;
  nanoseconds length{0};  // 0: as the seed says
};
Plan make_plan(std::uint64_t seed, const PlanOptions& options);

}  // namespace weir::simulation
