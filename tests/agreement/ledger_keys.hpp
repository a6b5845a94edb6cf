// One key of the ledger model (ledger_model.hpp): its grants in the order of the moments at which they act,
// and what is owed of them.
//
// Pure functions of values. Times are nanoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::inline v0_1::oracle {

struct LedgerKeys {
  using Ns = std::int64_t;
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Limit {
    bool slots = false;
    std::int64_t most = 1;  // the burst, or how many may be open
    Ns interval = 1;        // for each unit
    Ns kept = 0;            // by the class of who asks
    Ns penalty = 0;         // 0: none
    bool afresh = false;    // a penalty forgets
    // Each further breach's is growing / whole times as long, up to that.
    std::int64_t growing = 1, whole = 1;
    Ns most_penalty = 0;
  };
  // Of what acts, or is yet to act: its moment and its units.
  struct Act {
    Ns at;
    std::int64_t units;
    std::size_t id;
  };
  struct Grant {
    Ns at;
    std::int64_t units;
    std::size_t of;  // a call; kNone: nothing can change it
    Ns least = 0;    // of a pause that has ended: what it asks for
  };
  struct Key {
    Ns interval = 1;      // it is counted in
    Ns front = 0;         // what is over owes that
    Ns pause = 0;         // its end; 0: none
    bool afresh = false;  // then all before it is forgotten
    Ns asked = 0;         // the last pause, or what the other side said to be left, asked for that
    std::vector<Grant> grants{};
    Ns paused_from = 0, paused_until = 0;  // of the last ones in a row
    std::int64_t breaches_forgotten = 0;
    int generation = 0;
    std::vector<Act> acts{};
  };

  static std::int64_t over(Ns time, Ns interval) { return time <= 0 ? 0 : (time + interval - 1) / interval; }
  static Ns full(const Limit& limit) { return limit.most * limit.interval; }

  static Ns at_end_of_pause(Ns x, const Key& key, const Limit& limit) {
    if (key.afresh) return key.pause;
    return std::max(x, key.pause + (limit.most - 1) * limit.interval);
  }
  // Once all have acted up to then, and a pause has ended that ends by then.
  static Ns owed(const Key& key, const Limit& limit, Ns to, bool pauses = true) {
    Ns x = key.front;
    bool paused = !pauses || key.pause == 0 || key.pause > to;
    for (const Grant& each : key.grants) {
      if (each.at > to) break;
      if (!paused && each.at >= key.pause) x = at_end_of_pause(x, key, limit), paused = true;
      if (each.units > 0) x = std::max(x, each.at) + each.units * key.interval;
      x = std::max(x, each.least);
    }
    return paused ? x : at_end_of_pause(x, key, limit);
  }
  static Ns end_of_all(const Key& key, Ns now) {
    Ns last = std::max(now, key.pause);
    for (const Grant& each : key.grants) last = std::max(last, each.at);
    return last;
  }
  static Ns reset_after(const Key& key, const Limit& limit, Ns now) {
    return std::max<Ns>(0, owed(key, limit, end_of_all(key, now)) - now);
  }

  static bool fits_in(const Key& key, const Limit& limit, Ns at, std::int64_t units, Ns mine) {
    if (units == 0) return true;
    if (units * limit.interval > mine || at < key.pause) return false;
    Ns x = std::max(owed(key, limit, at), at) + units * limit.interval;
    if (x > at + mine) return false;
    for (const Grant& each : key.grants) {
      if (each.at <= at || each.units == 0) continue;
      x = std::max(x, each.at) + each.units * limit.interval;
      if (x > each.at + full(limit)) return false;
    }
    return true;
  }
  // Where units may begin to fit.
  static void find_beginnings(const Key& key, const Limit& limit, std::int64_t units, Ns mine,
                              std::vector<Ns>& into) {
    const auto add = [&](Ns x) { into.push_back(x + units * limit.interval - mine); };
    into.push_back(key.pause);
    add(key.front);
    add(at_end_of_pause(key.front, key, limit));
    for (const Grant& each : key.grants) {
      into.push_back(each.at);
      add(owed(key, limit, each.at, false));
      add(owed(key, limit, std::max(each.at, key.pause)));
    }
  }

  static Key recounted(const Key& key, const Limit& limit, Ns now) {
    Key other = key;
    other.interval = limit.interval;
    other.front = now + over(owed(key, limit, now, false) - now, key.interval) * limit.interval;
    std::erase_if(other.grants, [now](const Grant& each) { return each.at <= now; });
    if (other.pause != 0 && other.pause <= now && !key.afresh) {
      // What has acted since is owed beyond what the pause asks for.
      std::int64_t since = 0;
      for (const Grant& each : key.grants)
        if (each.at >= key.pause && each.at <= now) since += each.units;
      other.front = std::max(other.front, at_end_of_pause(0, other, limit) + since * limit.interval);
      other.pause = 0;
    }
    return other;
  }
  // As many of the units as may be owed.
  static std::int64_t charge_up_to(Key& key, const Limit& limit, std::int64_t units, Ns now, Ns overdraft,
                                   bool is_plain) {
    const Ns room = now + full(limit) + overdraft - std::max(owed(key, limit, now), now);
    const std::int64_t charged = room <= 0 ? 0 : std::min(units, room / limit.interval);
    if (is_plain && room > 0 && charged < units) {
      key.front = now + full(limit) + overdraft;
    } else {
      add(key, {now, charged, kNone});
    }
    return charged;
  }
  // No more than `left` are left.
  static std::int64_t leave(Key& key, const Limit& limit, std::int64_t left, Ns now, bool is_plain) {
    const Ns asked = now + (limit.most - std::min(left, limit.most)) * limit.interval;
    const Ns before = std::max(owed(key, limit, now), now);
    key.asked = asked;
    if (asked <= before) return 0;
    if (is_plain) {
      key.front = asked;
      return over(asked - now, limit.interval) - over(before - now, limit.interval);
    }
    const std::int64_t units = over(asked - before, limit.interval);
    add(key, {now, units, kNone});
    return units;
  }
  // A pause that is afresh has ended: what has acted before its end is no more.
  static void forget(Key& key, Ns now) {
    if (!key.afresh || key.pause > now) return;
    std::erase_if(key.grants, [&key](const Grant& each) { return each.at < key.pause; });
    key.front = key.pause;
    key.pause = key.asked = 0;
    key.afresh = false;
  }
  // One that has ended and after something that is open: it stays where it is.
  static void keep_pause(Key& key, const Limit& limit) {
    const auto after = std::find_if(key.grants.begin(), key.grants.end(),
                                    [&](const Grant& each) { return each.at >= key.pause; });
    key.grants.insert(after, {key.pause, 0, kNone, at_end_of_pause(0, key, limit)});
    key.pause = 0;
  }
  static void add(Key& key, const Grant& grant) {
    if (grant.units == 0 && grant.of == kNone) return;
    const auto after = std::find_if(key.grants.begin(), key.grants.end(),
                                    [&](const Grant& each) { return each.at > grant.at; });
    key.grants.insert(after, grant);
  }
};

}  // namespace weir::oracle
