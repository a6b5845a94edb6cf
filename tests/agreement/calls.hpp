// The life of a call, as docs/waiting.md, docs/charging.md and docs/slots.md tell it: slow, obvious, and made
// without a look at src/. Of each key a list of the intervals that calls own, each in whole nanoseconds, and
// of each call what became of it.
//
// One key under each limit: a rate or slots. What is left out is what moves those who come after: a cancel or
// a settlement for less while somebody has a moment ahead (can_cancel() and can_settle() say so).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "agreement/spans.hpp"

namespace weir::inline v0_1::oracle {

class Calls {
 public:
  using Ns = std::int64_t;

  struct Limit {
    bool slots;
    std::int64_t most;                    // the burst, or how many may be open
    Ns interval;                          // for each unit
    Ns penalty;                           // 0: none
    std::int64_t growing = 1, whole = 1;  // each further breach's is growing / whole times as long
    Ns most_penalty = 0;
  };
  struct Ask {
    std::size_t limit;
    std::int64_t cost;
  };
  enum class Kind { allowed, denied, never, busy };
  struct Told {
    Kind kind = Kind::allowed;
    Ns wait = 0;             // allowed: until the moment; denied: until the same request is allowed
    bool id = false;         // it is the last of calls()
    std::int64_t units = 0;  // of take()
  };
  struct Looked {
    std::int64_t remaining;
    Ns reset_after;
  };
  struct Charged {
    std::int64_t charged = 0, overdraft = 0;
    Ns wait = 0, reset_after = 0;
    std::int64_t dropped = 0;

    friend bool operator==(const Charged&, const Charged&) = default;
  };
  enum class Form { cost, remaining, pause };
  struct Part {
    std::size_t limit;
    std::int64_t cost;
    Ns low, end;
    Ns interval;
    std::int64_t burst;
    int generation;
    Ns moment;
    bool dead = false;
  };
  struct Call {
    Ns moment, until;
    bool held;
    bool over = false;
    std::vector<Part> parts{};         // of rates
    std::vector<std::size_t> slots{};  // that it has, by limit
  };

  explicit Calls(std::vector<Limit> limits) : limits_(std::move(limits)), lines_(limits_.size()) {}

  const std::vector<Limit>& limits() const { return limits_; }
  const std::vector<Call>& calls() const { return calls_; }
  void change(std::size_t limit, const Limit& to) { limits_[limit] = to; }

  Looked look(std::size_t i, Ns now) const {
    if (limits_[i].slots) {
      Ns last = 0;
      for (const Ns end : open_ends(i, now)) last = std::max(last, end - now);
      return {std::max<std::int64_t>(0, limits_[i].most - open(i, now)), last};
    }
    const Limit& limit = limits_[i];
    const Ns owed = ahead(i, now);
    const bool same = owed == 0 || debt(i, now).interval == limit.interval;
    const Ns room = same ? limit.most * limit.interval - owed : (limit.most - units(i, now)) * limit.interval;
    return {std::max<Ns>(0, room) / limit.interval, owed};
  }

  Told check(const std::vector<Ask>& asks, Ns now) {
    const Told told = decide(asks, now);
    if (told.kind == Kind::allowed) {
      for (const Ask& each : asks) append(each, now, now);
      return told;
    }
    return punish(asks, now, told);
  }

  // As many of n as there are, m at least.
  Told take(std::int64_t n, std::int64_t m, const std::vector<Ask>& of_one, Ns now) {
    std::vector<Ask> asks;
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

  // Where more than one rate is asked for, it does not wait.
  Told reserve(const std::vector<Ask>& asks, Ns now, Ns max_wait, Ns hold) {
    std::vector<Ask> rates, slots;
    for (const Ask& each : asks) (limits_[each.limit].slots ? slots : rates).push_back(each);
    for (const Ask& each : slots)
      if (open(each.limit, now) >= limits_[each.limit].most) return busy(rates, slots, now, max_wait);
    // Who asks to wait or to hold makes the line count by the numbers of now.
    if (hold > 0 || (max_wait > 0 && decide(rates, now).wait > 0)) {
      for (const Ask& each : rates) {
        lines_[each.limit].counted_by = limits_[each.limit];
        forget_of_others(each.limit, now);
      }
    }
    Told told = decide(rates, now);
    if (told.kind == Kind::never) return max_wait == 0 ? punish(rates, now, told) : told;
    const Ns late = told.wait - max_wait;
    // Nobody is charged ahead in a longer T than that of the debt.
    Ns shorter = 0;
    for (const Ask& each : rates)
      if (debt(each.limit, now).interval < limits_[each.limit].interval)
        shorter = std::max(shorter, ahead(each.limit, now));
    shorter = std::min(shorter, told.wait);
    if (late > 0 || shorter > 0) {
      told.wait = std::max(late, shorter);
      return max_wait == 0 ? punish(rates, now, told) : told;
    }
    const Ns moment = now + told.wait;
    told.kind = Kind::allowed;
    Call call{.moment = moment, .until = moment + hold, .held = hold > 0};
    for (const Ask& each : rates) call.parts.push_back(append(each, moment, now));
    for (const Ask& each : slots) call.slots.push_back(each.limit);
    told.id = told.wait > 0 || hold > 0;
    if (!told.id) return told;
    for (const Part& each : call.parts) lines_[each.limit].tail = each.end;
    calls_.push_back(call);
    return told;
  }

  // -1: there is none.
  Ns moment(std::size_t id, Ns now) const {
    const Call& call = calls_[id];
    if (call.over || is_dead(call)) return -1;
    const Ns moment = moment_of(call, now);
    if (moment > now) return moment - now;
    if (call.held) return call.until > now ? 0 : -1;
    return moment + 60'000'000'000 > now ? 0 : -1;
  }
  bool is_ahead(std::size_t id, Ns now) const { return moment_of(calls_[id], now) > now; }
  bool is_open(std::size_t id, Ns now) const {
    const Call& call = calls_[id];
    return !call.over && call.held && call.until > now && !is_dead(call);
  }

  // The hold that it has then, 0: none.
  Ns extend(std::size_t id, Ns hold, Ns now) {
    if (!is_open(id, now)) return 0;
    Call& call = calls_[id];
    call.until = std::max(now, moment_of(call, now)) + hold;
    if (call.until <= now) call.over = true;
    return call.until - now;
  }

  bool can_cancel(std::size_t id, Ns now) const {
    const Call& call = calls_[id];
    if (call.over || !is_ahead(id, now)) return true;
    return std::all_of(call.parts.begin(), call.parts.end(), [&](const Part& each) {
      return !is_known(each, now) || lines_[each.limit].tat == each.end;
    });
  }
  std::int64_t cancel(std::size_t id, Ns now) {
    Call& call = calls_[id];
    if (call.over || is_dead(call) || !is_ahead(id, now)) return 0;
    call.over = true;
    std::int64_t back = 0;
    for (Part& part : call.parts) {
      part.moment = now;
      if (!is_known(part, now)) continue;
      Line& line = lines_[part.limit];
      line.tat = std::min(part.end, std::max(part.low, least(line, now)));
      touch(line, now);
      back = std::max(back, part.cost);
    }
    return back;
  }

  bool can_settle(std::size_t id, std::int64_t actual, Ns now) const {
    const Call& call = calls_[id];
    if (!call.held || (is_open(id, now) && is_ahead(id, now))) return false;
    if (!is_open(id, now)) return true;
    return std::all_of(call.parts.begin(), call.parts.end(), [&](const Part& each) {
      return actual >= each.cost || !is_known(each, now) || lines_[each.limit].tat == each.end ||
             (lines_[each.limit].pause <= now && !is_anybody_ahead(each.limit, now));
    });
  }
  struct Settled {
    Ns wait = -1;
    std::int64_t dropped = 0;
  };
  Settled settle(std::size_t id, std::optional<std::int64_t> actual, Ns now, Ns overdraft) {
    if (!is_open(id, now)) return {};
    Call& call = calls_[id];
    call.over = true;
    Settled told{.wait = 0};
    for (const Part& part : call.parts) {
      if (part.dead) continue;
      const std::int64_t cost = actual.value_or(part.cost);
      if (cost < part.cost) give_back(part, part.cost - cost, now);
      if (cost > part.cost) told.dropped += owe(part, cost - part.cost, now, overdraft);
      told.wait = std::max(told.wait, until_one_more(part.limit, part.interval, part.burst, now));
    }
    return told;
  }

  Charged charge(const std::vector<Ask>& asks, Form form, Ns now, Ns overdraft) {
    Charged longest{.wait = -1};
    std::int64_t dropped = 0;
    for (const Ask& each : asks) {
      const Charged told = charge(each, form, now, overdraft);
      dropped += told.dropped;
      if (told.wait > longest.wait || (told.wait == longest.wait && told.overdraft > longest.overdraft))
        longest = told;
    }
    longest.dropped = dropped;
    return longest;
  }

  std::int64_t refund(std::size_t i, std::int64_t n, Ns now) {
    const Limit& limit = limits_[i];
    Line& line = lines_[i];
    const Ns owed = owed_in(i, limit.interval, now);
    forget_of_others(i, now);
    Ns least = line.pause > now ? line.pause + (limit.most - 1) * limit.interval : 0;
    if (is_needed(i, now)) {
      const bool same = line.counted_by.most == limit.most && line.counted_by.interval == limit.interval;
      if (!same || debt(i, now).interval != limit.interval || line.tail < 0) return 0;
      least = std::max(least, line.tail);
    }
    const Ns stays = std::min(owed, std::max<Ns>(0, least - now));
    const Ns back = std::min(n * limit.interval, owed - stays);
    if (back > 0) set(i, now + owed - back, now);
    return over(owed, limit.interval) - over(owed - back, limit.interval);
  }

  void reset() {
    for (Line& line : lines_) line = {.generation = line.generation + 1};
    for (Call& call : calls_) {
      call.slots.clear();
      for (Part& part : call.parts) part.dead = true;
    }
  }
  bool is_forgotten(std::size_t id) const { return is_dead(calls_[id]); }

  std::int64_t open(std::size_t i, Ns now) const {
    return static_cast<std::int64_t>(open_ends(i, now).size());
  }

 private:
  struct Line {
    Ns tat = 0;
    Ns interval = 1;  // what the debt is counted in
    Ns pause = 0;
    Ns breaches_forgotten = 0;
    std::int64_t burst =
        0;         // by which a pause has left the debt, until it changes after the pause; 0: none has
    Ns tail = -1;  // the tat as those left it who wait, hold or pause; -1: nobody knows
    Limit counted_by{};
    int generation = 0;
  };

  static std::int64_t over(Ns time, Ns interval) { return (time + interval - 1) / interval; }

  struct Debt {
    Ns tat, interval;

    friend bool operator==(const Debt&, const Debt&) = default;
  };
  // What a pause has left is its end, burst - 1 units after that, and the units beyond those.
  static Debt debt(const Line& line, Ns interval, std::int64_t burst, Ns now) {
    if (line.burst == 0 || line.tat <= now) return {line.tat, line.interval};
    const Ns beyond = std::max<Ns>(0, line.tat - line.pause - (line.burst - 1) * line.interval);
    const Ns then = line.interval == interval ? beyond : over(beyond, line.interval) * interval;
    return {line.pause + (burst - 1) * interval + then, interval};
  }
  Debt debt(std::size_t i, Ns now) const {
    return debt(lines_[i], limits_[i].interval, limits_[i].most, now);
  }
  static Ns least(const Line& line, Ns now) {
    return line.pause > now ? line.pause + (line.burst - 1) * line.interval : 0;
  }
  // Those who come by other numbers than a pause has left it by take nothing back of what was before.
  void forget_of_others(std::size_t i, Ns now) {
    Line& line = lines_[i];
    if (debt(i, now) == Debt{line.tat, line.interval}) return;
    ++line.generation;
    line.tail = -1;
  }
  // The debt has changed.
  static void touch(Line& line, Ns now) {
    line.tail = line.tat;
    if (line.pause <= now) line.burst = 0;
  }

  Ns ahead(std::size_t i, Ns now) const { return std::max<Ns>(0, debt(i, now).tat - now); }
  std::int64_t units(std::size_t i, Ns now) const { return over(ahead(i, now), debt(i, now).interval); }
  Ns owed_in(std::size_t i, Ns interval, Ns now) const {
    return debt(i, now).interval == interval ? ahead(i, now) : units(i, now) * interval;
  }
  Ns until_one_more(std::size_t i, Ns interval, std::int64_t burst, Ns now) const {
    const Debt owed = debt(lines_[i], interval, burst, now);
    return std::max<Ns>(0, owed.tat - now - (burst - 1) * owed.interval);
  }
  std::vector<Ns> open_ends(std::size_t i, Ns now) const {
    std::vector<Ns> ends;
    for (const Call& each : calls_)
      if (!each.over && each.until > now && std::count(each.slots.begin(), each.slots.end(), i) > 0)
        ends.push_back(each.until);
    std::sort(ends.begin(), ends.end());
    return ends;
  }
  Ns moment_of(const Call& call, Ns now) const {
    Ns latest = std::min(call.moment, now);
    for (const Part& each : call.parts)
      if (!each.dead) latest = std::max(latest, each.moment);
    return latest;
  }
  static bool is_dead(const Call& call) {
    return call.slots.empty() &&
           std::all_of(call.parts.begin(), call.parts.end(), [](const Part& each) { return each.dead; });
  }
  bool is_known(const Part& part, Ns now) const {
    const Line& line = lines_[part.limit];
    return !part.dead && part.generation == line.generation && line.tat > now;
  }
  bool is_anybody_ahead(std::size_t i, Ns now) const {
    for (const Call& call : calls_)
      for (const Part& each : call.parts)
        if (each.limit == i && !each.dead && each.moment > now) return true;
    return false;
  }
  // Somebody waits, or a hold is open.
  bool is_needed(std::size_t i, Ns now) const {
    for (std::size_t id = 0; id < calls_.size(); ++id)
      for (const Part& each : calls_[id].parts)
        if (each.limit == i && !each.dead && is_open(id, now)) return true;
    return is_anybody_ahead(i, now);
  }

  // How long until all of them are allowed, if nobody else comes.
  Told decide(const std::vector<Ask>& asks, Ns now) const {
    Told told;
    for (const Ask& each : asks) {
      const Limit& limit = limits_[each.limit];
      if (each.cost > limit.most) return {.kind = Kind::never, .wait = -1};
      const Ns wait =
          std::max<Ns>(0, ahead(each.limit, now) - (limit.most - each.cost) * debt(each.limit, now).interval);
      if (each.cost == 0 || wait == 0) continue;
      told.kind = Kind::denied;
      told.wait = std::max(told.wait, wait);
    }
    return told;
  }
  // The state is another than those knew who were charged before.
  void set(std::size_t i, Ns tat, Ns now) {
    Line& line = lines_[i];
    const Debt before = debt(i, now);
    if (before.tat <= now || before.interval != limits_[i].interval) {
      ++line.generation;
      line.tail = -1;
    }
    forget_of_others(i, now);
    line.interval = limits_[i].interval;
    line.tat = tat;
    if (line.burst > 0) line.burst = line.pause > now ? limits_[i].most : 0;
  }
  // Charged as of that moment, at which it is allowed.
  Part append(const Ask& ask, Ns moment, Ns now) {
    const Limit& limit = limits_[ask.limit];
    const Line& line = lines_[ask.limit];
    const Debt before = debt(ask.limit, now);
    const Ns owes = std::max<Ns>(0, before.tat - moment);
    const bool recounts = owes > 0 && before.interval != limit.interval;
    const Ns tat = moment + (recounts ? over(owes, before.interval) * limit.interval : owes);
    const Ns begin = std::max(tat, moment);
    const Ns low = recounts ? begin : std::min(before.tat, begin);
    if (ask.cost > 0) set(ask.limit, begin + ask.cost * limit.interval, now);
    return {.limit = ask.limit,
            .cost = ask.cost,
            .low = low,
            .end = line.tat,
            .interval = limit.interval,
            .burst = limit.most,
            .generation = line.generation,
            .moment = moment};
  }

  // What it is told of slots is of before the rest that it takes.
  Told busy(const std::vector<Ask>& rates, const std::vector<Ask>& slots, Ns now, Ns max_wait) {
    Ns lacking = 0;
    for (const Ask& each : slots) {
      const std::vector<Ns> ends = open_ends(each.limit, now);
      const auto which = static_cast<std::int64_t>(ends.size()) - limits_[each.limit].most;
      if (which >= 0) lacking = std::max(lacking, ends[static_cast<std::size_t>(which)] - now);
    }
    Told told = decide(rates, now);
    if (max_wait == 0) told = punish(rates, now, told);
    if (told.kind == Kind::never) return told;
    return {.kind = Kind::busy, .wait = std::max({Ns{0}, told.wait - max_wait, lacking})};
  }
  // A rest of each that denies, whatever the others say; then it is told of after that.
  Told punish(const std::vector<Ask>& asks, Ns now, const Told& told) {
    bool any = false;
    for (const Ask& each : asks) {
      const Ns penalty = limits_[each.limit].penalty;
      if (penalty == 0 || lines_[each.limit].pause > now || decide({each}, now).kind != Kind::denied)
        continue;
      any = true;
      charge({each.limit, grown(each.limit, now)}, Form::pause, now, 0);
    }
    return any ? decide(asks, now) : told;
  }
  // Its next penalty, and one more breach that counts: each `most_penalty` takes one back.
  Ns grown(std::size_t i, Ns now) {
    const Limit& limit = limits_[i];
    if (limit.growing == limit.whole) return limit.penalty;
    Ns& forgotten = lines_[i].breaches_forgotten;
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

  // Of a pause the cost is its length.
  Charged charge(const Ask& ask, Form form, Ns now, Ns overdraft) {
    const std::size_t i = ask.limit;
    const Limit& limit = limits_[i];
    const Ns before = owed_in(i, limit.interval, now);
    Ns after = before;
    Charged told;
    const std::int64_t units_before = units(i, now);
    if (form == Form::cost) {
      const Ns most = std::max(before, limit.most * limit.interval + overdraft);
      after = std::min(before + ask.cost * limit.interval, most);
      told.charged = (after - before) / limit.interval;
      told.dropped = ask.cost - told.charged;
    } else if (form == Form::remaining) {
      after = std::max(before, (limit.most - std::min(ask.cost, limit.most)) * limit.interval);
    } else {
      set(i, now + before, now);
      const Ns moved = pause(i, now, now + ask.cost);
      after = std::max(before + moved, ask.cost + (limit.most - 1) * limit.interval);
    }
    if (form == Form::pause) {
      Line& line = lines_[i];
      line.tat = line.tail = now + after;
      line.burst = line.pause > now ? limit.most : 0;
      line.counted_by = limit;
    } else if (after > before) {
      set(i, now + after, now);
    }
    if (form != Form::cost && after > before) told.charged = units(i, now) - units_before;
    told.overdraft = std::max<std::int64_t>(0, units(i, now) - limit.most);
    told.wait = until_one_more(i, limit.interval, limit.most, now);
    told.reset_after = ahead(i, now);
    return told;
  }

  // Those who wait move, and all that follow, so that the first of them acts at its end; by how much.
  Ns pause(std::size_t i, Ns now, Ns end) {
    lines_[i].pause = std::max(lines_[i].pause, end);
    Ns first = end;
    bool follows = false;
    for (const Call& call : calls_)
      for (const Part& each : call.parts)
        if (each.limit == i && !each.dead && each.moment > now) first = std::min(first, each.moment);
    const Ns by = end - first;
    for (Call& call : calls_) {
      for (Part& each : call.parts) {
        if (each.limit != i || each.dead) continue;
        follows = follows || each.moment > now;
        if (!follows) continue;
        each.low += by;
        each.end += by;
        if (each.moment > now) each.moment += by;
        if (call.until > now) call.until += by;
      }
    }
    return by;
  }

  void give_back(const Part& part, std::int64_t less, Ns now) {
    Line& line = lines_[part.limit];
    if (!is_known(part, now)) return;
    Ns back = std::min(std::max<Ns>(0, part.end - now), less * part.interval);
    if (line.pause > now) back = std::min(back, std::max<Ns>(0, part.end - least(line, now)));
    if (back == 0) return;
    line.tat -= back;
    touch(line, now);
    for (Call& call : calls_)
      for (Part& each : call.parts)
        if (each.limit == part.limit && each.end > part.end) each.end -= back;
  }
  std::int64_t owe(const Part& part, std::int64_t more, Ns now, Ns overdraft) {
    Line& line = lines_[part.limit];
    if (line.tat <= now) line.interval = part.interval;
    const Ns before = std::max(line.tat, now);
    const Ns most = std::max(before, now + part.burst * part.interval + overdraft);
    line.tat = std::min(before + more * line.interval, most);
    touch(line, now);
    return more - (line.tat - before) / line.interval;
  }

  std::vector<Limit> limits_;
  std::vector<Line> lines_;  // by limit
  std::vector<Call> calls_;
};

}  // namespace weir::oracle
