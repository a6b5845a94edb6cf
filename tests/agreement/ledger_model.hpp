// The ledger of a key, as docs/algorithm.md defines it: slow, obvious, and made without a look at src/. Of
// each key a list of its grants in the order of the moments at which they act; what is owed is the product of
// their maps, found by walking along that list, and a moment by trying all at which something may begin to
// fit.
//
// A request meets one key of each limit: a rate or slots. Times are nanoseconds. Not for: windows, lines of
// those who wait on a connection, more held than may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agreement/ledger_keys.hpp"

namespace weir::inline v0_1::oracle {

class LedgerModel : LedgerKeys {
 public:
  using LedgerKeys::Act, LedgerKeys::kNone, LedgerKeys::Limit, LedgerKeys::Ns;

  static constexpr int kAlone = -1;
  struct Ask {
    std::size_t key;
    std::int64_t cost = 1;
    bool shadow = false;
    int inside = kAlone;  // an earlier one, a shadow: where that fits, this one keeps nothing free
  };
  using Asks = std::vector<Ask>;
  enum class Kind { allowed, denied, never, busy };
  struct Told {
    Kind kind = Kind::allowed;
    Ns wait = 0;  // allowed: until the moment; denied: until the same request is allowed; never: -1
    std::size_t id = kNone;  // there is something to cancel or to settle
    std::int64_t units = 0;  // of take()
  };
  struct Looked {
    Kind kind = Kind::allowed;  // of one unit
    Ns retry_after = 0;
    std::int64_t remaining = 0;
    Ns reset_after = 0;
  };
  struct Charged {
    std::int64_t charged = 0, overdraft = 0;
    Ns wait = 0, reset_after = 0;
    std::int64_t dropped = 0;
  };
  enum class Form { cost, remaining, pause, afresh };

  // `tick`: all times are whole numbers of it.
  LedgerModel(std::vector<Limit> limits, Ns tick) : limits_(std::move(limits)), tick_(tick) {
    for (const Limit& each : limits_) keys_.push_back({.interval = each.interval});
  }

  const std::vector<Limit>& limits() const { return limits_; }
  void change(std::size_t key, const Limit& to) { limits_[key] = to; }

  Looked look(std::size_t key, Ns now) {
    const Limit& limit = limits_[key];
    if (limit.slots) {
      const std::vector<Ns> ends = open_ends(key, now);
      const Ns last = ends.empty() ? 0 : ends.back() - now;
      const Ns wait = lacking(key, now);
      return {wait > 0 ? Kind::busy : Kind::allowed, wait, std::max<std::int64_t>(0, free_slots(key, now)),
              last};
    }
    const Told told = alone({key, 1}, now);
    // By another T it drains as it was counted.
    return {told.kind, told.wait, most(key, now), reset_after(keys_[key], limit, now)};
  }

  Told check(const Asks& asks, Ns now) {
    const Told told = decide(asks, now);
    if (told.kind != Kind::allowed) return punish(asks, now, told);
    for (std::size_t i = 0; i < asks.size(); ++i)
      if (fits(asks, i, now, now)) put(asks[i], now, kNone, now);
    return told;
  }

  // As many of n as there are, m at least.
  Told take(std::int64_t n, std::int64_t m, const Asks& of_one, Ns now) {
    Asks asks;
    for (std::int64_t a = n; a >= m; --a) {
      asks = of_one;
      for (Ask& each : asks) each.cost *= a;
      if (decide(asks, now).kind != Kind::allowed) continue;
      Told told = check(asks, now);
      told.units = a;
      return told;
    }
    return check(asks, now);
  }

  Told reserve(const Asks& asks, Ns now, Ns max_wait, Ns hold) {
    Asks rates, slots;
    for (const Ask& each : asks) (limits_[each.key].slots ? slots : rates).push_back(each);
    Told told = find_moment(rates, now);
    const bool lacks = std::any_of(slots.begin(), slots.end(), [&](const Ask& each) {
      return !each.shadow && lacking(each.key, now) > 0;
    });
    const bool may_breach = max_wait == 0;
    if (lacks) return busy(rates, slots, now, max_wait);
    const bool alone = asks.size() == 1;
    if (told.kind == Kind::never) return may_breach ? punish(rates, now, told, !alone) : told;
    const Ns at = now + told.wait;
    for (std::size_t i = 0; i < rates.size(); ++i)
      if (told.wait > 0 && !rates[i].shadow && !may_be_told(rates, i, at, now)) max_wait = 0;
    if (told.wait > max_wait) {
      told = {Kind::denied, told.wait - max_wait};
      return may_breach ? punish(rates, now, told, !alone) : told;
    }
    const bool is_kept = told.wait > 0 || hold > 0;
    if (is_kept) {
      told.id = calls_.size();
      calls_.push_back({.at = at, .until = at + hold, .held = hold > 0});
    }
    std::vector<bool> acts;
    for (std::size_t i = 0; i < rates.size(); ++i) acts.push_back(fits(rates, i, at, now));
    for (std::size_t i = 0; i < rates.size(); ++i)
      if (acts[i]) put(rates[i], at, told.id, now);
    for (const Ask& each : slots)
      if (lacking(each.key, now) == 0) calls_.back().slots.push_back(each.key);
    return told;
  }

  // -1: there is none; one over whose moment a pause lies is cancelled.
  Ns moment(std::size_t id, Ns now) {
    constexpr Ns kTold = 60'000'000'000;
    Call& call = calls_[id];
    const bool has_acted = !call.held && call.at <= now;
    if (call.over || is_dead(call) || (has_acted ? call.at + kTold : call.until) <= now) return -1;
    for (const Part& part : call.parts) {
      if (!is_known(part)) continue;
      const Key& key = keys_[part.key];
      if (key.paused_from >= call.at || call.at >= key.paused_until) continue;
      if (!has_acted) cancel_all(id);
      call.was_told_off = true;
      return -1;
    }
    return std::max<Ns>(0, call.at - now);
  }
  // Its moment has come, nothing of it can change, and its keys were forgotten since, a pause that lay over
  // its moment has ended, or it was told of that: nothing hangs on what it is told.
  bool is_of_no_matter(std::size_t id, Ns now) const {
    const Call& call = calls_[id];
    if (call.held || call.at > now) return false;
    if (call.was_told_off) return true;
    return std::any_of(call.parts.begin(), call.parts.end(), [&](const Part& each) {
      const Key& key = keys_[each.key];
      return !is_known(each) ||
             (key.paused_from < call.at && call.at < key.paused_until && key.paused_until <= now);
    });
  }
  bool is_ahead(std::size_t id, Ns now) const { return !calls_[id].over && calls_[id].at > now; }
  bool is_open(std::size_t id, Ns now) const {
    const Call& call = calls_[id];
    return !call.over && call.held && call.until > now && !is_dead(call);
  }
  Ns extend(std::size_t id, Ns hold, Ns now) {
    if (!is_open(id, now)) return 0;
    Call& call = calls_[id];
    call.until = std::max(now, call.at) + hold;
    return call.until - now;
  }

  std::int64_t cancel(std::size_t id, Ns now) {
    if (!is_ahead(id, now)) return 0;
    return cancel_all(id);
  }

  struct Settled {
    Ns wait = -1;  // below 0: there is none; -2: without a hold
    std::int64_t dropped = 0;
  };
  // `named`: of that key alone, the others cost what they were charged.
  Settled settle(std::size_t id, std::optional<std::int64_t> actual, std::optional<std::size_t> named, Ns now,
                 Ns overdraft) {
    Call& call = calls_[id];
    if (!call.over && !call.held && call.at > now && !is_dead(call)) return {.wait = -2};
    if (!is_open(id, now) || call.at > now) return {};
    Settled told{.wait = 0};
    call.over = true;
    for (const Part& part : call.parts) {
      if (!is_known(part)) continue;
      const bool is_told = actual && (!named || *named == part.key);
      told.dropped += settle(part, id, is_told ? *actual : part.units, now, overdraft);
      if (part.shadow) continue;
      const Limit now_by = std::exchange(limits_[part.key], part.by);
      told.wait = std::max(told.wait, alone({part.key, 1}, now).wait);
      limits_[part.key] = now_by;
    }
    return told;
  }

  // Of a pause the cost is its length.
  Charged charge(const Ask& ask, Form form, Ns now, Ns overdraft) {
    const Limit& limit = limits_[ask.key];
    Key key = view(ask.key, now);
    // Nothing of it is open: it owes one number, to the nanosecond.
    const Key known = folded(ask.key, now);
    const bool is_plain = known.grants.empty() && known.pause == 0 && !has_open(ask.key, now);
    Charged told;
    if (form == Form::cost) {
      told.charged = charge_up_to(key, limit, ask.cost, now, overdraft, is_plain);
      told.dropped = ask.cost - told.charged;
    } else if (form == Form::remaining) {
      told.charged = leave(key, limit, ask.cost, now, is_plain);
    } else {
      const Ns end = std::max(key.pause, now + ask.cost);
      const std::int64_t before = over(owed(key, limit, end) - end, limit.interval);
      if (key.pause != 0 && key.pause <= now) keep_pause(key, limit);
      if (now >= key.paused_until) key.paused_from = now;
      if (now + ask.cost > key.pause) {
        key.afresh = form == Form::afresh;
      } else if (now + ask.cost == key.pause && form == Form::pause) {
        key.afresh = false;
      }
      key.paused_until = end;
      key.pause = end;
      if (!key.afresh) key.asked = end + (limit.most - 1) * limit.interval;
      // The promise is of what is not forgotten.
      if (key.afresh) std::erase_if(keys_[ask.key].acts, [end](const Act& each) { return each.at < end; });
      key.acts = keys_[ask.key].acts;
      told.charged = std::max<std::int64_t>(over(owed(key, limit, end) - end, limit.interval) - before, 0);
    }
    const Key before = view(ask.key, now);
    const bool changes = key.front != before.front || key.grants.size() != before.grants.size();
    if (changes || form == Form::pause || form == Form::afresh) keys_[ask.key] = key;
    forget(keys_[ask.key], now);  // else it would forget this too
    keys_[ask.key].asked = key.asked;
    const Key seen = view(ask.key, now);
    told.overdraft = over(owed(seen, limit, now) - now - limit.most * limit.interval, limit.interval);
    if (form == Form::afresh) told.overdraft = 0;
    told.wait = std::max<Ns>(0, alone({ask.key, 1}, now).wait);
    told.reset_after = reset_after(keys_[ask.key], limit, now);
    return told;
  }

  // From the front alone.
  std::int64_t refund(std::size_t i, std::int64_t units, Ns now) {
    const Limit& limit = limits_[i];
    Key key = view(i, now);
    const Ns least = std::max(now, key.asked);
    const Ns after = std::max(key.front - units * limit.interval, std::min(key.front, least));
    const std::int64_t back = over(key.front - now, limit.interval) - over(after - now, limit.interval);
    if (back == 0) return 0;
    key.front = after;
    keys_[i] = key;
    return back;
  }

  void reset(std::size_t i) {
    keys_[i] = {.interval = limits_[i].interval, .generation = keys_[i].generation + 1};
    for (Call& call : calls_) std::erase(call.slots, i);
  }

  std::int64_t open(std::size_t key, Ns now) const {
    return static_cast<std::int64_t>(open_ends(key, now).size());
  }
  const std::vector<Act>& acts(std::size_t key) const { return keys_[key].acts; }

 private:
  struct Part {
    std::size_t key;
    std::int64_t units;
    Limit by;
    int generation;
    bool shadow;
  };
  struct Call {
    Ns at, until;
    bool held;
    bool over = false;
    bool was_told_off = false;         // when it asked for its moment
    std::vector<Part> parts{};         // of rates
    std::vector<std::size_t> slots{};  // that it has
  };

  // What is owed counts in whole units by another T, and so does what a class leaves.
  Ns room(std::size_t i, Ns kept) const {
    const Limit& limit = limits_[i];
    const Ns mine = full(limit) - kept;
    return keys_[i].interval == limit.interval ? mine : mine / limit.interval * limit.interval;
  }
  std::int64_t most(std::size_t i, Ns now) const {
    const Limit& limit = limits_[i];
    const Key key = view(i, now);
    const Ns mine = room(i, limit.kept);
    std::int64_t units = mine / limit.interval;
    while (units > 0 && !fits_in(key, limit, now, units, mine)) --units;
    return units;
  }
  // As its limit counts it now: what is over is one number, and by another T all that has acted.
  Key view(std::size_t i, Ns now) const {
    const Key key = folded(i, now);
    return key.interval == limits_[i].interval ? key : recounted(key, limits_[i], now);
  }
  Key folded(std::size_t i, Ns now) const {
    const Limit& limit = limits_[i];
    Key key = keys_[i];
    forget(key, now);
    // By another T it is counted as it was when it ended.
    const bool ends_pauses = key.interval == limit.interval;
    while (!key.grants.empty() && !is_open(key.grants.front(), now) && key.grants.front().at <= now) {
      const Grant first = key.grants.front();
      if (key.pause != 0 && first.at >= key.pause && !ends_pauses) return key;
      key.grants.erase(key.grants.begin());
      if (key.pause != 0 && first.at >= key.pause) {
        key.front = at_end_of_pause(key.front, key, limit);
        key.pause = 0;
      }
      if (first.units > 0) key.front = std::max(key.front, first.at) + first.units * key.interval;
      key.front = std::max(key.front, first.least);
    }
    if (ends_pauses && key.pause != 0 && key.pause <= now &&
        (key.grants.empty() || key.grants.front().at >= key.pause)) {
      key.front = at_end_of_pause(key.front, key, limit);
      key.pause = 0;
    }
    return key;
  }
  bool is_open(const Grant& grant, Ns now) const {
    return grant.of != kNone && !calls_[grant.of].over && calls_[grant.of].until > now;
  }

  // ------------------------------------------------------------------------------------------ requests

  // Whether one of them fits then, as its key is now.
  bool fits(const Asks& asks, std::size_t which, Ns at, Ns now) const {
    const Ask& ask = asks[which];
    const Key key = view(ask.key, now);
    const Limit& limit = limits_[ask.key];
    if (fits_in(key, limit, at, ask.cost, room(ask.key, limit.kept))) return true;
    return is_guaranteed(asks, which, at, now) && fits_in(key, limit, at, ask.cost, room(ask.key, 0));
  }
  bool is_guaranteed(const Asks& asks, std::size_t which, Ns at, Ns now) const {
    const int inside = asks[which].inside;
    return inside != kAlone && fits(asks, static_cast<std::size_t>(inside), at, now);
  }
  bool may_be_told(const Asks& asks, std::size_t which, Ns at, Ns now) const {
    return asks[which].cost == 0 || limits_[asks[which].key].kept == 0 || is_guaranteed(asks, which, at, now);
  }
  bool all_fit(const Asks& asks, Ns at, Ns now) const {
    for (std::size_t i = 0; i < asks.size(); ++i)
      if (!asks[i].shadow && !fits(asks, i, at, now)) return false;
    return true;
  }
  bool is_never(const Ask& ask, bool inside) const {
    return !ask.shadow &&
           ask.cost * limits_[ask.key].interval > room(ask.key, inside ? 0 : limits_[ask.key].kept);
  }
  bool is_recounted(const Asks& asks, Ns now) const {
    return std::any_of(asks.begin(), asks.end(), [&](const Ask& each) {
      return keys_[each.key].interval != limits_[each.key].interval &&
             reset_after(keys_[each.key], limits_[each.key], now) > 0;
    });
  }

  // The first moment from `from` on at which all fit, as the keys are now.
  Told find_moment(const Asks& asks, Ns now) const {
    for (const Ask& each : asks)
      if (is_never(each, each.inside != kAlone)) return {Kind::never, -1};
    std::vector<Ns> at{now};
    for (const Ask& each : asks) {
      const Key key = view(each.key, now);
      for (const Ns kept : {limits_[each.key].kept, Ns{0}})
        find_beginnings(key, limits_[each.key], each.cost, room(each.key, kept), at);
    }
    std::sort(at.begin(), at.end());
    for (const Ns each : at)
      if (each >= now && all_fit(asks, each, now)) return {Kind::allowed, each - now};
    return {Kind::never, -1};
  }
  // What one is told of one key: by another T it is counted again at each moment.
  Told alone(const Ask& ask, Ns now) const {
    const Asks asks{{.key = ask.key, .cost = ask.cost}};
    if (is_never(ask, false)) return {Kind::never, -1};
    if (all_fit(asks, now, now)) return {};
    if (!is_recounted(asks, now)) return {Kind::denied, find_moment(asks, now).wait};
    Ns at = now;
    while (!all_fit(asks, at, at)) at += tick_;
    return {Kind::denied, at - now};
  }
  // Of a check: the longest that any of them is told.
  Told decide(const Asks& asks, Ns now) const {
    Told told;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      if (asks[i].shadow || fits(asks, i, now, now)) continue;
      const Told each = alone(asks[i], now);
      if (each.kind == Kind::never) return each;
      told = {Kind::denied, std::max(told.wait, each.wait)};
    }
    return told;
  }
  // Charged at that moment.
  void put(const Ask& ask, Ns at, std::size_t of, Ns now) {
    if (ask.cost == 0) return;
    Key& key = keys_[ask.key];
    key = view(ask.key, now);
    add(key, {at, ask.cost, of});
    key.acts.push_back({at, ask.cost, of});
    if (of == kNone) return;
    Part& part =
        calls_[of].parts.emplace_back(Part{ask.key, ask.cost, limits_[ask.key], key.generation, ask.shadow});
    part.by.kept = 0;
  }

  // ------------------------------------------------------------------------------------- calls and slots

  bool is_known(const Part& part) const { return part.generation == keys_[part.key].generation; }
  bool has_open(std::size_t key, Ns now) const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const Call& call) {
      return !call.over && call.until > now &&
             std::any_of(call.parts.begin(), call.parts.end(),
                         [&](const Part& each) { return each.key == key && is_known(each); });
    });
  }
  bool is_dead(const Call& call) const {
    return call.slots.empty() && std::none_of(call.parts.begin(), call.parts.end(),
                                              [&](const Part& each) { return is_known(each); });
  }
  std::int64_t cancel_all(std::size_t id) {
    Call& call = calls_[id];
    call.over = true;
    std::int64_t back = 0;
    for (const Part& part : call.parts) {
      if (!is_known(part)) continue;
      Key& key = keys_[part.key];
      std::erase_if(key.grants, [id](const Grant& each) { return each.of == id; });
      std::erase_if(key.acts, [id](const Act& each) { return each.id == id; });
      if (!part.shadow) back = std::max(back, part.units);
    }
    call.slots.clear();
    return back;
  }
  // Units that nobody will owe.
  std::int64_t settle(const Part& part, std::size_t id, std::int64_t actual, Ns now, Ns overdraft) {
    Key& key = keys_[part.key];
    forget(key, now);
    for (Act& each : key.acts)
      if (each.id == id) each.units = std::min(each.units, actual);
    const std::int64_t more = actual - std::min(actual, part.units);
    const auto grant =
        std::find_if(key.grants.begin(), key.grants.end(), [id](const Grant& each) { return each.of == id; });
    const Limit& limit = part.by;
    const Ns most_owed = now + full(limit) + overdraft;
    if (grant == key.grants.end()) {
      const Limit of_now = std::exchange(limits_[part.key], {.most = limit.most, .interval = key.interval});
      key = view(part.key, now);
      const Ns room = most_owed - std::max(owed(key, limits_[part.key], now), now);
      const std::int64_t charged = room <= 0 ? 0 : std::min(more, room / key.interval);
      add(key, {now, charged, kNone});
      limits_[part.key] = of_now;
      return more - charged;
    }
    grant->of = kNone;
    grant->units = actual;
    const std::int64_t dropped = std::min(more, over(owed(key, limit, now) - most_owed, key.interval));
    grant->units -= dropped;
    return dropped;
  }

  std::vector<Ns> open_ends(std::size_t key, Ns now) const {
    std::vector<Ns> ends;
    for (const Call& each : calls_)
      if (!each.over && each.until > now && std::count(each.slots.begin(), each.slots.end(), key) > 0)
        ends.push_back(each.until);
    std::sort(ends.begin(), ends.end());
    return ends;
  }
  std::int64_t free_slots(std::size_t key, Ns now) const { return limits_[key].most - open(key, now); }
  // Until one is free.
  Ns lacking(std::size_t key, Ns now) const {
    const std::int64_t free = free_slots(key, now);
    return free > 0 ? 0 : open_ends(key, now)[static_cast<std::size_t>(-free)] - now;
  }
  Told busy(const Asks& rates, const Asks& slots, Ns now, Ns max_wait) {
    Told told{Kind::busy, 0};
    for (const Ask& each : slots) told.wait = std::max(told.wait, lacking(each.key, now));
    Told denied = decide(rates, now);
    if (max_wait == 0) denied = punish(rates, now, denied, true);
    if (denied.kind == Kind::never) return denied;
    for (const Ask& each : rates)
      if (limits_[each.key].kept > 0 && alone(each, now).kind == Kind::denied)
        told.wait = std::max(told.wait, alone(each, now).wait);
    told.wait = std::max(told.wait, denied.wait - max_wait);
    return told;
  }

  // A rest of each that denies, whatever the others say; then it is told of after that. `joint`: as of all at
  // once, which was found before and may be longer.
  Told punish(const Asks& asks, Ns now, const Told& told, bool joint = false) {
    bool any = false;
    for (const Ask& each : asks) {
      Limit& limit = limits_[each.key];
      if (limit.penalty == 0 || each.shadow || keys_[each.key].pause > now) continue;
      if (alone(each, now).kind != Kind::denied) continue;
      const Ns kept = std::exchange(limit.kept, 0);
      const bool breaches = alone(each, now).kind == Kind::denied;
      limit.kept = kept;
      if (!breaches) continue;
      any = true;
      charge({each.key, grown(each.key, now)}, limit.afresh ? Form::afresh : Form::pause, now, 0);
    }
    if (!any || told.kind == Kind::never) return told;
    const Told after = decide(asks, now);
    return {after.kind, joint ? std::max(after.wait, told.wait) : after.wait};
  }
  // Its next penalty, and one more breach that counts: each `most_penalty` takes one back.
  Ns grown(std::size_t i, Ns now) {
    const Limit& limit = limits_[i];
    if (limit.growing == limit.whole) return limit.penalty;
    Ns& forgotten = keys_[i].breaches_forgotten;
    Ns left = now;
    __int128 length = limit.penalty, of = 1;
    for (; left < forgotten; left += limit.most_penalty) {
      if (length / of >= limit.most_penalty) continue;
      length *= limit.growing;
      of *= limit.whole;
    }
    forgotten = left + limit.most_penalty;
    return static_cast<Ns>(std::min<__int128>(length / of, limit.most_penalty));
  }

  std::vector<Limit> limits_;
  Ns tick_;
  std::vector<Key> keys_;  // by limit
  std::vector<Call> calls_;
};

}  // namespace weir::oracle
