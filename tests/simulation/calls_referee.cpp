#include "simulation/calls_referee.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/evidence.hpp"

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;
using For = Key::For;

constexpr nanoseconds kMs = 1ms;
// By how much a server's clock may tell another time than the world's after that long.
nanoseconds drift(nanoseconds time) { return time / 2000 + kRounding; }
// How long a request may still be under way whose reply nobody has seen.
constexpr nanoseconds kUnderWay = 10s;

class CallsReferee : Evidence {
 public:
  CallsReferee(const Plan& plan, const History& history) : Evidence(plan, history) {
    for (const Asked& asked : history_.asked) {
      if (!asked.event->keys.empty()) by_key_[asked.event->keys[0]].push_back(&asked);
    }
  }

  Verdict judge() {
    for (std::uint32_t number = 0; number < plan_.keys.size(); ++number) {
      for (std::size_t place = 0; place < places() && verdict_.holds(); ++place) {
        const For use = plan_.keys[number].use;
        if (use == For::slots) judge_slots(number, place);
        if (use == For::pauses) judge_pauses(number, place);
        if (use == For::penalty) judge_penalty(number, place);
        if (use == For::calendar) judge_calendar(number, place);
      }
    }
    return verdict_;
  }

 private:
  using All = std::vector<const Asked*>;

  // In the order in which they arrived.
  All asked_of(std::uint32_t number, std::size_t place) const {
    All all;
    const auto found = by_key_.find(number);
    if (found == by_key_.end()) return all;
    std::multimap<nanoseconds, const Asked*> by_time;  // those of one time as they were asked
    for (const Asked* const asked : found->second) {
      if (place_of(*asked) == place && asked->arrived != kNever) by_time.emplace(asked->arrived, asked);
    }
    for (const auto& [arrived, asked] : by_time) all.push_back(asked);
    return all;
  }
  // Of a decision that the fallback may have made, nobody knows but its server.
  bool is_of_store(const Asked& asked) const { return !is_shared() || !disturbed(asked); }
  bool is_told(const Asked& asked) const { return asked.received != kNever && is_of_store(asked); }
  bool is_granted(const Asked& asked) const { return is_told(asked) && asked.reply.allowed(); }

  // Nothing is forgotten or counted by another clock meanwhile.
  bool is_even(const Key& key, std::size_t place, const Span& span) const {
    const std::size_t where = lost_with(key, place);
    return std::none_of(history_.losses.begin(), history_.losses.end(),
                        [&](const History::Loss& loss) {
                          return loss.place == where && loss.at >= span.from && loss.at <= span.to;
                        }) &&
           std::none_of(history_.steps.begin(), history_.steps.end(), [&](const History::Step& step) {
             return is_shared() && step.place == where && step.at >= span.from && step.at <= span.to;
           });
  }

  // ---------------------------------------------------------------------------------------------- slots

  struct Hold {
    const Asked* asked;
    nanoseconds sure_until;  // open from its reply until then, whatever else is not known
    nanoseconds open_until;  // and from its arrival until then, at the longest
  };

  // What was asked about a hold, in order.
  std::unordered_map<std::uint32_t, All> by_hold(const All& all) const {
    std::unordered_map<std::uint32_t, All> found;
    for (const Asked* const asked : all) {
      if (asked->event->is_by_id()) found[asked->event->of].push_back(asked);
    }
    return found;
  }

  nanoseconds sure_until(const Asked& grant, const All& about, const Key& key, std::size_t place) const {
    // By the clock of a thread that stood still.
    const nanoseconds lag = plan_.lags ? kLag : 0ns;
    nanoseconds until = grant.arrived + grant.event->hold - drift(grant.event->hold) - lag;
    nanoseconds settled{-1};
    for (const Asked* const asked : about) {
      const Event& event = *asked->event;
      if (event.kind == Kind::moment) continue;
      if (event.kind != Kind::extend) {
        until = std::min(until, asked->sent);
        break;
      }
      const nanoseconds time = std::min(event.time, kTtl);
      const nanoseconds extended = asked->arrived + time - drift(time) - lag;
      const bool is_open = is_told(*asked) && asked->reply.kind == Reply::Kind::integer &&
                           asked->reply.integer > 0 && asked->arrived > settled &&
                           std::min(until, extended) >= asked->departed;
      until = is_open ? extended : std::min(until, extended);
      settled = std::max(settled, asked->departed == kNever ? asked->arrived + kUnderWay : asked->departed);
    }
    if (grant.event->bound) until = std::min(until, grant.left);
    for (const History::Loss& loss : history_.losses) {
      if (loss.place == lost_with(key, place) && loss.at >= grant.arrived) until = std::min(until, loss.at);
    }
    for (const History::Step& step : history_.steps) {
      if (step.by > 0ns && is_shared() && step.at >= grant.arrived) until = std::min(until, step.at);
    }
    return until;
  }

  nanoseconds open_until(const Asked& grant, const All& about, const Key& key, std::size_t place) const {
    const Event& event = *grant.event;
    const nanoseconds hold = event.hold + drift(event.hold);
    if (grant.departed == kNever) return grant.arrived + event.time + hold + kUnderWay;
    nanoseconds until = grant.departed + hold;
    nanoseconds ended = kNever;
    for (const Asked* const asked : about) {
      const nanoseconds done = asked->departed == kNever ? asked->arrived + kUnderWay : asked->departed;
      if (asked->event->kind == Kind::extend)
        until = std::max(until, done + asked->event->time + drift(asked->event->time));
      // What was settled since a copy was made is open in it.
      if (asked->event->kind == Kind::settle && is_told(*asked) &&
          asked->reply.kind == Reply::Kind::integer && asked->reply.integer >= 0 &&
          is_even(key, place, {grant.arrived, kNever}))
        ended = std::min(ended, asked->departed);
    }
    // Its server ends it in the store.
    if (event.bound && grant.told_left != kNever && is_even(key, place, {grant.arrived, kNever})) {
      const Span ends{grant.told_left, grant.told_left + (is_shared() ? 4 * kDeadline : kMs)};
      if (!overlaps(history_.disturbed[grant.server], ends)) ended = std::min(ended, ends.to);
    }
    for (const History::Step& step : history_.steps) {
      if (step.by < 0ns && is_shared()) until -= step.by;
    }
    return std::min(until, ended);
  }

  void judge_slots(std::uint32_t number, std::size_t place) {
    const Key& key = plan_.keys[number];
    const All all = asked_of(number, place);
    auto about = by_hold(all);
    std::vector<Hold> holds;
    for (const Asked* const asked : all) {
      const Kind kind = asked->event->kind;
      if (kind != Kind::reserve && kind != Kind::acquire) continue;
      const All& its = about[asked->event->number];
      holds.push_back({asked, is_granted(*asked) ? sure_until(*asked, its, key, place) : -1ns,
                       takes_none(*asked) ? -1ns : open_until(*asked, its, key, place)});
    }
    no_more_than(key, holds);
    nothing_revives(about, key, place);
    busy_for_a_reason(key, holds);
  }

  // One that was denied had no slot; while it stood in line others may have gone first.
  bool takes_none(const Asked& asked) const {
    return asked.event->kind == Kind::reserve && asked.received != kNever && !asked.reply.allowed();
  }

  void no_more_than(const Key& key, const std::vector<Hold>& holds) {
    std::vector<std::tuple<nanoseconds, int, const Asked*>> changes;
    for (const Hold& hold : holds) {
      if (hold.sure_until <= hold.asked->departed) continue;
      changes.emplace_back(hold.asked->departed, 1, hold.asked);
      changes.emplace_back(hold.sure_until, -1, hold.asked);
    }
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
      return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
    });
    std::int64_t open = 0;
    for (const auto& [at, by, asked] : changes) {
      open += by;
      if (open <= key.burst) continue;
      std::string text =
          about(*asked) + ": " + std::to_string(open) + " holds of " + key.rule() + " are open:";
      for (const Hold& each : holds) {
        if (each.asked->departed > at || each.sure_until <= at) continue;
        text += "\n  until " + seconds(each.sure_until) + " " + about(*each.asked);
        for (const Asked& other : history_.asked)
          if (other.event->of == each.asked->event->number) text += "\n    " + about(other);
      }
      return wrong("slots", text);
    }
  }

  // What has ended stays ended.
  void nothing_revives(const std::unordered_map<std::uint32_t, All>& about_holds, const Key& key,
                       std::size_t place) {
    for (const auto& [number, all] : about_holds) {
      nanoseconds ended = kNever;
      const Asked* by = nullptr;
      for (const Asked* const asked : all) {
        if (!is_told(*asked) || asked->reply.kind != Reply::Kind::integer) continue;
        const std::int64_t told = asked->reply.integer;
        if (asked->event->kind == Kind::extend && told > asked->event->time.count() / 1'000'000)
          wrong("extended", about(*asked) + ", for longer than it said");
        const bool does = asked->event->kind == Kind::extend   ? told > 0
                          : asked->event->kind == Kind::settle ? told >= 0
                                                               : false;
        if (does && asked->arrived > ended && is_even(key, place, {by->arrived, asked->departed}))
          wrong("extended", about(*asked) + ", which had ended by " + about(*by));
        if (asked->event->kind == Kind::settle && told >= 0 && asked->departed < ended) {
          ended = asked->departed;
          by = asked;
        }
      }
      const auto grant = by_event_.find(number);
      if (grant != by_event_.end()) nothing_revives_after(*grant->second, all, key, place);
    }
  }
  // Of a hold whose time had come to its end before anybody asked for more.
  void nothing_revives_after(const Asked& grant, const All& all, const Key& key, std::size_t place) {
    nanoseconds until =
        grant.departed == kNever ? kNever : grant.departed + grant.event->hold + drift(grant.event->hold);
    for (const Asked* const asked : all) {
      if (asked->event->kind != Kind::extend || until == kNever) continue;
      if (asked->arrived > until && is_told(*asked) && asked->reply.integer > 0 &&
          is_even(key, place, {grant.arrived, asked->departed}))
        return wrong("extended",
                     about(*asked) + ", though the time of its hold was over at " + seconds(until));
      if (asked->departed == kNever) return;
      until = std::max(until, asked->departed + asked->event->time + drift(asked->event->time));
    }
  }

  static bool is_line_before(const Asked& asked, const std::vector<Hold>& holds) {
    return std::any_of(holds.begin(), holds.end(), [&](const Hold& each) {
      const Asked& other = *each.asked;
      return other.event->kind == Kind::acquire && other.server == asked.server &&
             other.arrived <= asked.departed && other.departed >= asked.arrived;
    });
  }

  void busy_for_a_reason(const Key& key, const std::vector<Hold>& holds) {
    for (const Hold& each : holds) {
      const Asked& asked = *each.asked;
      if (!is_told(asked) || !asked.reply.denied()) continue;
      // Or too many wait.
      if (asked.event->kind == Kind::acquire &&
          (plan_.waiters < 100 || asked.departed < asked.arrived + asked.event->time / 2))
        continue;
      const nanoseconds offered = is_shared() ? 2 * kDeadline + 100ms : kMs;
      Span span{asked.arrived, asked.departed};
      if (asked.event->kind == Kind::acquire) span.from = std::max(span.from, span.to - offered);
      // One that is free is kept for those in line at that server, who ask for it now and then.
      const bool are_free = asked.reply.values[2] > 0;
      if (asked.event->kind == Kind::reserve && are_free && is_line_before(asked, holds))
        span.from -= offered;
      if (overlaps(history_.asleep[asked.server], span) || overlaps(history_.stuck[asked.server], span))
        continue;
      std::int64_t taken = 0;
      for (const Hold& other : holds) {
        if (&other != &each && other.asked->arrived <= span.to && other.open_until >= span.from) ++taken;
      }
      if (taken < key.burst)
        return wrong("busy for nothing", about(asked) + ", with " + std::to_string(taken) + " of " +
                                             key.rule() + " taken at most");
    }
  }

  // --------------------------------------------------------------------------------------------- pauses

  // When it acts, as far as is known; nothing where it may not have.
  struct Acted {
    const Asked* asked;
    Span when;
    nanoseconds decided;  // not before that
  };

  std::vector<Acted> acted(const All& all) const {
    std::unordered_map<std::uint32_t, const Asked*> moments;
    std::unordered_map<std::uint32_t, nanoseconds> earliest;  // of those that are told a later one
    const auto note = [&](std::uint32_t number, const Asked& told, std::int64_t ms) {
      nanoseconds& its = earliest[number];
      its = std::max(its, told.arrived + ms * kMs - drift(ms * kMs));
    };
    for (const Asked* const asked : all) {
      if (asked->event->kind == Kind::reserve && is_granted(*asked))
        note(asked->event->number, *asked, asked->reply.values[3]);
      if (asked->event->kind != Kind::moment || !is_told(*asked) || asked->reply.kind != Reply::Kind::integer)
        continue;
      if (asked->reply.integer == 0) moments[asked->event->of] = asked;
      if (asked->reply.integer > 0) note(asked->event->of, *asked, asked->reply.integer);
    }
    std::vector<Acted> found;
    for (const Asked* const asked : all) {
      const Kind kind = asked->event->kind;
      if (!is_granted(*asked) || (kind != Kind::check && kind != Kind::reserve && kind != Kind::acquire))
        continue;
      const bool waits = kind == Kind::reserve && asked->reply.values[3] > 0;
      if (!waits) {
        const nanoseconds from = kind == Kind::acquire ? asked->departed : asked->arrived;
        found.push_back({asked, {from, asked->departed}, asked->arrived});
      } else if (const auto moment = moments.find(asked->event->number); moment != moments.end()) {
        found.push_back({asked, {earliest[asked->event->number], moment->second->departed}, asked->arrived});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Acted& a, const Acted& b) { return a.when.to < b.when.to; });
    return found;
  }

  void judge_pauses(std::uint32_t number, std::size_t place) {
    const Key& key = plan_.keys[number];
    const All all = asked_of(number, place);
    const std::vector<Acted> acts = acted(all);
    for (const Asked* const asked : all) {
      if (asked->event->kind != Kind::charge || !is_told(*asked) || asked->reply.kind != Reply::Kind::values)
        continue;
      const nanoseconds end = asked->arrived + asked->event->time - drift(asked->event->time);
      if (end > asked->departed) nobody_acts(key, place, *asked, end, acts);
    }
  }

  // Before the end of a pause nobody acts; then one unit, or of one that is afresh a burst, and the pace of
  // the limit.
  void nobody_acts(const Key& key, std::size_t place, const Asked& pause, nanoseconds end,
                   const std::vector<Acted>& acts) {
    // A server learns within a second that another has paused a key for which somebody waits.
    const nanoseconds learned = pause.departed + (is_shared() ? nanoseconds{1s} : kMs);
    std::int64_t units = 0, most = pause.event->afresh ? key.burst : 1;
    for (const Acted& act : acts) {
      if (act.when.from <= pause.departed) continue;
      if (!is_even(key, place, {pause.arrived, act.when.to}) || act.when.to > end + 20s) return;
      if (!is_even(key, place, {act.decided, act.when.to})) continue;  // its moment may have come before
      const bool is_moved = act.asked->event->kind == Kind::acquire && act.decided <= pause.departed;
      if (act.when.to < end && (!is_moved || act.when.from > learned))
        return wrong("acts in a pause",
                     about(*act.asked) + " acts before " + seconds(end) + ", by " + about(pause));
      if (act.decided <= pause.departed || act.asked->event->kind == Kind::acquire) continue;
      // What was settled for less goes back after the pause.
      if (act.asked->event->kind != Kind::check) continue;
      units += static_cast<std::int64_t>(act.asked->event->units);
      most = std::max(most, static_cast<std::int64_t>(act.asked->event->units));
      const nanoseconds since = act.when.to - end;
      if ((units - most) * key.interval > since + since / 2000 + drift(pause.event->time))
        return wrong("pace after a pause",
                     about(*act.asked) + " is the unit " + std::to_string(units) + " since " + about(pause));
    }
  }

  // -------------------------------------------------------------------------------------------- penalty

  void judge_penalty(std::uint32_t number, std::size_t place) {
    const Key& key = plan_.keys[number];
    const All all = asked_of(number, place);
    const std::vector<Acted> acts = acted(all);
    nanoseconds rests_until{0};     // at the longest, for all that was denied
    const Asked* last = nullptr;    // the last denial that was told alone
    const Asked* breach = nullptr;  // and that was a breach for sure
    const nanoseconds longest = std::max(key.penalty, key.most_penalty);
    for (const Asked* const asked : all) {
      const Event& event = *asked->event;
      if (event.kind != Kind::check || event.units > static_cast<std::uint64_t>(key.burst)) continue;
      const bool may_be_denied = asked->received == kNever || !asked->reply.allowed();
      const nanoseconds done = asked->departed == kNever ? asked->arrived + kUnderWay : asked->departed;
      if (is_told(*asked) && asked->reply.denied()) {
        const nanoseconds wait = asked->reply.values[3] * kMs;
        // Of each further unit the pace.
        const nanoseconds full = key.penalty + (static_cast<std::int64_t>(event.units) - 1) * key.interval;
        // A store that is shared decides once more, and by then there may be enough.
        const bool may_have_come = is_shared() && wait <= asked->departed - asked->arrived + 2 * kRounding;
        if (wait + kRounding < full && !may_have_come && asked->arrived > rests_until &&
            is_even(key, place, {asked->arrived, asked->departed}))
          return wrong("no rest after a breach", about(*asked));
        if (wait >= full && asked->arrived > rests_until) {
          // One more, before the last has been forgotten, is twice as long.
          if (breach != nullptr && key.most_penalty > 0ns && !may_have_come && wait < full + key.penalty &&
              asked->departed < breach->arrived + key.most_penalty - drift(key.most_penalty) &&
              is_even(key, place, {breach->arrived, asked->departed}))
            return wrong("a breach is forgotten early", about(*asked) + ", after " + about(*breach));
          breach = asked;
        }
        const nanoseconds end = asked->arrived + key.penalty - drift(key.penalty);
        if (wait >= full) rest(key, place, *asked, end, acts);
        if (last != nullptr) no_longer(key, place, *last, *asked);
        last = asked;
      }
      const bool is_told_alone = is_told(*asked) && asked->reply.denied();
      const nanoseconds rests = is_told_alone ? asked->reply.values[3] * kMs : longest;
      if (may_be_denied)
        rests_until = std::max(rests_until, done + std::max(rests, key.penalty) + drift(longest));
    }
  }
  void rest(const Key& key, std::size_t place, const Asked& breach, nanoseconds end,
            const std::vector<Acted>& acts) {
    for (const Acted& act : acts) {
      if (act.when.from <= breach.departed) continue;
      if (act.when.to >= end || !is_even(key, place, {breach.arrived, act.when.to})) return;
      return wrong("acts in a rest",
                   about(*act.asked) + " acts before " + seconds(end) + ", by " + about(breach));
    }
  }
  // Who knocks on makes nobody wait longer.
  void no_longer(const Key& key, std::size_t place, const Asked& before, const Asked& asked) {
    // What the store said within a second before may be remembered, whatever its clock has done since.
    const nanoseconds since = before.arrived - (is_shared() ? nanoseconds{1s} : 0ns);
    const nanoseconds rests = before.arrived + key.penalty - drift(key.penalty);
    const auto more = (static_cast<std::int64_t>(before.event->units) - 1) * key.interval;
    if (before.reply.values[3] * kMs < key.penalty + more || asked.arrived <= before.departed ||
        asked.departed >= rests || !is_even(key, place, {since, asked.departed}))
      return;
    const nanoseconds then = before.departed + before.reply.values[3] * kMs +
                             std::max<std::int64_t>(0, static_cast<std::int64_t>(asked.event->units) -
                                                           static_cast<std::int64_t>(before.event->units)) *
                                 key.interval;
    if (asked.arrived + asked.reply.values[3] * kMs > then + drift(key.penalty) + 2 * kRounding)
      wrong("a rest that grows", about(asked) + ", after " + about(before));
  }

  // ------------------------------------------------------------------------------------------- calendar

  void judge_calendar(std::uint32_t number, std::size_t place) {
    const Key& key = plan_.keys[number];
    if (is_shared() && !history_.steps.empty()) return;  // the year begins at another time
    const nanoseconds about_then = plan_.new_year / 2000 + 200ms;
    window(key, place, asked_of(number, place), {0ns, plan_.new_year - about_then}, 0ns);
    window(key, place, asked_of(number, place), {plan_.new_year + about_then, kNever},
           plan_.new_year - about_then);
  }

  // In a window that holds all of `within`, and nothing of before `since`.
  void window(const Key& key, std::size_t place, const All& all, const Span& within, nanoseconds since) {
    const auto limit = static_cast<std::uint64_t>(key.burst);
    for (const Asked* const asked : all) {
      if (asked->event->kind != Kind::check || !is_told(*asked)) continue;
      if (asked->arrived < within.from || asked->departed > within.to) continue;
      if (asked->reply.allowed() ? is_even(key, place, {0ns, asked->departed}) : asked->reply.denied())
        count(key, all, within, since, *asked, limit);
      if (!verdict_.holds()) return;
    }
  }
  void count(const Key& key, const All& all, const Span& within, nanoseconds since, const Asked& asked,
             std::uint64_t limit) {
    std::uint64_t least = 0, most = 0, back = 0;
    for (const Asked* const other : all) {
      if (other == &asked || other->arrived > asked.departed) continue;
      const Event& event = *other->event;
      const nanoseconds done = other->departed == kNever ? kNever : other->departed;
      if (done < since) continue;
      const bool is_before = is_told(*other) && done < asked.arrived && other->arrived >= within.from;
      if (event.kind == Kind::refund) back += event.units;
      if (event.kind == Kind::check && !(other->received != kNever && other->reply.denied())) {
        most += event.units;
        if (is_before && other->reply.allowed()) least += event.units;
      }
      if (event.kind == Kind::charge) {
        most += event.form == Event::Form::remaining ? limit - std::min(event.units, limit) : event.units;
        if (is_before && other->reply.kind == Reply::Kind::values)
          least += static_cast<std::uint64_t>(other->reply.values[0]);
      }
    }
    const std::uint64_t cost = asked.event->units;
    if (asked.reply.allowed() && least + cost > limit + back)
      wrong("window", about(asked) + ": the unit " + std::to_string(least + cost) + " of " + key.rule() +
                          ", of which " + std::to_string(back) + " may have been taken back");
    if (asked.reply.denied() && most + cost <= limit)
      wrong("window",
            about(asked) + ": of " + key.rule() + " there were " + std::to_string(limit - most) + " left");
  }

  std::unordered_map<std::uint32_t, All> by_key_;
};

}  // namespace

Verdict judge_calls(const Plan& plan, const History& history) { return CallsReferee(plan, history).judge(); }

}  // namespace weir::simulation
