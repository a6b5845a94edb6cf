#include "simulation/referee.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/calls_referee.hpp"
#include "simulation/evidence.hpp"
#include "simulation/lines_referee.hpp"
#include "simulation/span_sum.hpp"
#include "simulation/world.hpp"

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;

constexpr nanoseconds kLease =
    1100ms;  // how long units that are taken ahead may be spent (--lease-for), and a look
constexpr nanoseconds kPlanLapses = 1100ms;  // after its server has asked for it last
// A store that is shared counts in whole microseconds.
constexpr nanoseconds kTolerance = 4us;

std::vector<Span> joined(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  std::vector<Span> all;
  for (const Span& each : spans) {
    if (!all.empty() && each.from <= all.back().to) {
      all.back().to = std::max(all.back().to, each.to);
    } else {
      all.push_back(each);
    }
  }
  return all;
}

// What acts under one key.
struct Act {
  nanoseconds earliest;
  nanoseconds latest;
  std::uint64_t units;
  bool disturbed;  // the fallback may have decided it
  const Asked* asked;
};

class Referee : Evidence {
 public:
  Referee(const Plan& plan, const History& history) : Evidence(plan, history) {
    for (const History::Step& step : history_.steps) stepped_back_ = stepped_back_ || step.by < 0ns;
  }

  Verdict judge() {
    if (!history_.odd.empty()) return {"odd", history_.odd};
    if (history_.replies_too_many > 0) return {"answered twice", "more replies than requests"};
    answers();
    deadlines();
    for (std::uint32_t key = 0; key < plan_.keys.size() && verdict_.holds(); ++key) {
      for (std::size_t place = 0; place < places(); ++place) account(key, place);
    }
    if (verdict_.holds()) denials();
    for (std::uint32_t key = 0; key < plan_.keys.size() && verdict_.holds(); ++key) {
      for (std::size_t place = 0; place < places(); ++place) holds(key, place);
    }
    if (verdict_.holds()) all_agree();
    if (verdict_.holds()) verdict_ = judge_calls(plan_, history_);
    return verdict_.holds() ? judge_lines(plan_, history_) : verdict_;
  }

 private:
  // ---------------------------------------------------------------------------------- single answers

  void answers() {
    for (const Asked& asked : history_.asked) {
      if (asked.received == kNever) continue;
      const Event& event = *asked.event;
      const Reply& reply = asked.reply;
      if (reply.kind == Reply::Kind::error) {
        const bool undoes = event.is_by_id();
        const bool asks_store =
            event.kind == Kind::reset || event.kind == Kind::charge || event.kind == Kind::refund;
        const bool is_full = reply.text.find("memory for reservations is full") != std::string::npos;
        const bool may_be_kept = event.hold > 0ns || event.time > 0ns || plan_.by_file;
        if (is_full && may_be_kept) continue;
        if (!undoes && !(asks_store && disturbed(asked))) wrong("error", about(asked));
        continue;
      }
      const bool decides = event.kind <= Kind::acquire || event.kind == Kind::charge;
      if (decides != (reply.kind == Reply::Kind::values)) wrong("form", about(asked));
      if (!decides) continue;
      const auto& key = std::find_if(event.keys.begin(), event.keys.end(),
                                     [&](std::uint32_t each) { return plan_.keys[each].name == reply.text; });
      if (key == event.keys.end()) {
        wrong("form", about(asked));
        continue;
      }
      const Key& its = plan_.keys[*key];
      if (event.kind == Kind::charge) {
        // What would be dropped lies a day ahead.
        const bool is_cost = event.form == Event::Form::cost;
        if (!disturbed(asked) &&
            (is_cost ? reply.values[0] != static_cast<std::int64_t>(event.units) : reply.values[0] < 0))
          wrong("charged", about(asked));
        continue;
      }
      // A fallback tells of its share.
      const bool reloads = plan_.by_file && reply.values[1] == its.burst / 2;
      if ((reply.values[1] != its.burst && !reloads && !disturbed(asked)) || reply.values[2] < 0 ||
          reply.values[2] > its.burst)
        wrong("numbers", about(asked));
      if (event.kind == Kind::reserve && reply.allowed() && reply.values[3] * 1'000'000 > event.time.count())
        wrong("waits longer than it said", about(asked));
      const bool fits = static_cast<std::int64_t>(least_of(event)) <= reply.values[1] - left_free(event, its);
      if (event.least > 0 && (reply.allowed() ? reply.granted < static_cast<std::int64_t>(event.least) ||
                                                    reply.granted > static_cast<std::int64_t>(event.units)
                                              : reply.granted != 0))
        wrong("granted", about(asked));
      if (event.kind == Kind::check && reply.allowed() != (reply.values[3] == -1) && fits)
        wrong("numbers", about(asked));
    }
  }

  static std::uint64_t least_of(const Event& event) { return event.least > 0 ? event.least : event.units; }
  // What it costs as far as is known, where it passes.
  static std::uint64_t units_of(const Asked& asked) {
    const bool is_told = asked.event->least > 0 && asked.reply.allowed();
    return is_told ? static_cast<std::uint64_t>(asked.reply.granted) : asked.event->units;
  }

  nanoseconds longest(const Event& event) const {
    const nanoseconds once = is_shared() ? kDeadline : 0ns;
    switch (event.kind) {
      case Kind::cancel:
      case Kind::settle:
      case Kind::charge:
      case Kind::refund:
      case Kind::moment:
      case Kind::extend:
        return 2 * once;
      case Kind::acquire:
        return event.time + 2 * once;
      default:
        return once;
    }
  }

  void deadlines() {
    struct Before {
      nanoseconds left{0};  // the replies to what came earlier over that connection
      const Asked* asked = nullptr;
    };
    std::unordered_map<std::uint64_t, Before> before;
    for (const Asked& asked : history_.asked) {
      if (asked.arrived == kNever) continue;
      const bool answered = asked.departed != kNever;
      Before& its = before[asked.connection];
      const nanoseconds since = std::max(asked.arrived, its.left);
      const nanoseconds until = answered ? asked.departed : std::min(asked.ended, history_.end);
      // What is asked together is answered together.
      const bool together =
          its.left > asked.arrived || (its.asked != nullptr && its.asked->departed == until);
      its = {std::max(its.left, until), &asked};
      nanoseconds most =
          together && is_shared() ? std::max(2 * kDeadline, longest(*asked.event)) : longest(*asked.event);
      most += most / 1000 + 100us;  // its own clock drifts
      for (const auto* const spans : {&history_.asleep, &history_.stuck}) {
        for (const Span& span : (*spans)[asked.server]) {
          if (overlap(span, {since, until})) most += span.to - span.from;
        }
      }
      if (until - since > most)
        wrong(answered ? "answered late" : "never answered",
              about(asked) + ", after " + seconds(until - since));
    }
  }

  // --------------------------------------------------------------------------------------- the promise

  // What a granted request has cost in the end, as its client knows: 0 when it did not act.
  std::uint64_t spent(const Asked& asked) const {
    const auto undone = undone_.find(asked.event->number);
    if (undone == undone_.end()) return asked.event->units;
    return std::min(undone->second, asked.event->units);
  }

  // Its client does not act from the moment at which it gives up, unless the moment had come. An error does
  // not say whether it had.
  bool gives_up(const Asked& cancel) const {
    if (cancel.received != kNever && cancel.reply.kind == Reply::Kind::integer && cancel.reply.integer == 0)
      return false;
    const Asked& of = *by_event_.at(cancel.event->of);
    if (plan_.keys[of.event->keys[0]].asks_first()) return true;
    const nanoseconds wait{of.reply.values[3] * 1'000'000};
    // By a clock that has stepped back it had not.
    return stepped_back_ || cancel.sent <= of.departed + wait + wait / 2000;
  }

  void note_undone() {
    if (std::exchange(noted_, true)) return;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind == Kind::cancel && gives_up(asked)) undone_[event.of] = 0;
      // One that was refused has changed nothing; an error of the store does not say whether it has.
      const bool is_error = asked.reply.kind == Reply::Kind::error && disturbed(asked);
      const bool settles = asked.received == kNever || is_error ||
                           (asked.reply.kind == Reply::Kind::integer && asked.reply.integer >= 0);
      if (event.kind == Kind::moment && asked.received != kNever &&
          asked.reply.kind == Reply::Kind::integer && asked.reply.integer == 0)
        acted_[event.of] = &asked;
      if (event.kind == Kind::settle && settles) {
        const auto [its, first] = undone_.try_emplace(event.of, event.units);
        its->second = std::min(its->second, event.units);
      }
    }
  }

  // By how much an acquire may be told after its moment: 10 ms or one interval, whichever is longer.
  nanoseconds late(std::uint32_t key) const {
    const bool slept = std::any_of(history_.asleep.begin(), history_.asleep.end(),
                                   [](const auto& spans) { return !spans.empty(); });
    return (slept ? std::max<nanoseconds>(10ms, plan_.keys[key].interval) : 0ns) + (plan_.lags ? kLag : 0ns);
  }

  std::vector<Act> acts_of(std::uint32_t key, std::size_t place) {
    note_undone();
    std::vector<Act> acts;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (asked.received == kNever || !asked.reply.allowed() || place_of(asked) != place) continue;
      if (std::find(event.keys.begin(), event.keys.end(), key) == event.keys.end()) continue;
      Act act{asked.arrived, asked.departed, units_of(asked), disturbed(asked), &asked};
      if (event.kind == Kind::look || event.kind > Kind::acquire) continue;
      if (event.kind == Kind::reserve) {
        act.units = spent(asked);
        const nanoseconds wait{asked.reply.values[3] * 1'000'000};
        if (wait > 0ns) act.earliest += wait - kRounding;
        act.latest += wait;
        // It acts when it was told that its moment has come, which a pause may have moved.
        if (wait > 0ns && plan_.keys[event.keys[0]].asks_first()) {
          const auto moment = acted_.find(event.number);
          if (moment == acted_.end()) continue;
          act.latest = moment->second->departed;
        }
      }
      // The clock by which the wait is meant drifts.
      const nanoseconds drift = std::max(0ns, act.latest - asked.departed) / 2000;
      act.earliest -= drift;
      act.latest += drift;
      // It acts when it is told, which is later than its moment by what the answer of the store took.
      if (event.kind == Kind::acquire) {
        act.units = spent(asked);
        const nanoseconds waited = asked.departed - asked.arrived;
        act.earliest = std::max(asked.arrived,
                                act.latest - waited / 1000 - late(key) - (is_shared() ? 2 * kDeadline : 0ns));
        act.latest += waited / 1000;
      }
      if (act.units > 0) acts.push_back(act);
    }
    return acts;
  }

  // What a span may have on top that has a part of [from, until] in it.
  struct Extra {
    nanoseconds from;
    nanoseconds until;
    nanoseconds time;  // in which the limit admits it
  };

  std::vector<Extra> extras_of(const Key& key, std::uint32_t number, std::size_t place) const {
    const nanoseconds full = key.interval * key.burst;
    const nanoseconds booked = key.reserves ? plan_.longest_wait : 0ns;
    // How long what was granted before may yet act.
    const nanoseconds ahead = std::max(booked, plan_.lease > 0 ? kLease + kDeadline : 0ns);
    const nanoseconds leased = key.interval * static_cast<std::int64_t>(2 * plan_.lease * plan_.servers);
    std::vector<Extra> extras;
    // Under two rates in turn, what a reading lags by counts twice.
    if (key.changes && plan_.lags) extras.push_back({0ns, kNever, 2 * kLag});
    for (const History::Loss& loss : history_.losses) {
      if (loss.place != lost_with(key, place)) continue;
      std::uint64_t units = 0;
      for (const Asked& asked : history_.asked) {
        const auto& keys = asked.event->keys;
        if (asked.arrived == kNever || asked.arrived > loss.at || place_of(asked) != place) continue;
        const nanoseconds done = asked.departed != kNever ? asked.departed : asked.ended;
        if (done < loss.since || std::find(keys.begin(), keys.end(), number) == keys.end()) continue;
        units += asked.event->kind == Kind::charge ? charged(asked) : asked.event->units;
      }
      // A reservation that was taken back since is charged again, as it was when the copy was made.
      const nanoseconds lost =
          key.interval * static_cast<std::int64_t>(std::min<std::uint64_t>(units, 1'000'000));
      // What was charged from outside is more than anybody is admitted; a pause makes those who wait act
      // later.
      const nanoseconds gone = key.use == Key::For::checks ? std::min(full + booked, lost) : lost;
      extras.push_back({loss.at, key.asks_first() ? kNever : loss.at + ahead, gone + leased});
    }
    if (is_shared()) {
      for (const History::Step& step : history_.steps) {
        if (step.place != lost_with(key, place)) continue;
        if (step.by > 0ns)
          extras.push_back({step.at, step.at + ahead,
                            step.by + leased + (plan_.store == Plan::Store::cluster ? full : 0ns)});
        // What was told before a step back acts when it was told to. What takes over a moment between these
        // afterwards acts as much later as the clock has stepped.
        if (step.by < 0ns && key.changes) extras.push_back({step.at, step.at, -2 * step.by});
        if (step.by < 0ns && key.reserves)
          extras.push_back({step.at, step.at + ahead, std::min(-step.by, booked + full)});
        // A debt that was charged from outside is cut to the burst then, for as long as the step is.
        if (step.by < 0ns && key.use == Key::For::charges) {
          const nanoseconds until = step.at - step.by;
          extras.push_back({step.at, until + ahead, charged_until(until, number, place) * key.interval});
        }
      }
    }
    if (key.reserves) {
      for (const auto& spans : history_.asleep) {
        // What is told late by no more than that is told as it is.
        for (const Span& sleep : spans)
          extras.push_back({sleep.from, sleep.to + kRecovery, 10ms + key.interval});
      }
    }
    if (key.use == Key::For::charges || key.asks_first()) add_calls(number, place, extras);
    // What is forgotten, at once or at the end of a pause, may be used again.
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (!(event.kind == Kind::reset || event.afresh) || event.keys[0] != number || asked.arrived == kNever)
        continue;
      if (place_of(asked) != place) continue;
      const nanoseconds done = asked.departed != kNever ? asked.departed : asked.ended;
      const nanoseconds lasts = event.afresh ? event.time + event.time / 1000 : 0ns;
      const nanoseconds until = done == kNever ? history_.end : done + 2 * kDeadline + lasts;
      extras.push_back({asked.arrived, until + ahead,
                        full + booked + leased + (plan_.store == Plan::Store::cluster ? full : 0ns)});
    }
    return extras;
  }

  // Units that were charged from outside, at the least.
  static std::uint64_t charged(const Asked& asked) {
    if (asked.received == kNever || asked.reply.kind != Reply::Kind::values) return 0;
    const auto told = static_cast<std::uint64_t>(asked.reply.values[0]);
    // Of what was owed before and is owed now each is rounded up.
    return asked.event->form == Event::Form::cost || told == 0 ? told : told - 1;
  }

  std::int64_t charged_until(nanoseconds time, std::uint32_t number, std::size_t place) const {
    std::uint64_t units = 0;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind == Kind::charge && event.keys[0] == number && place_of(asked) == place &&
          asked.arrived <= time)
        units += charged(asked);
    }
    return static_cast<std::int64_t>(units);
  }

  // What was taken back; and with a shared store those who wait for less than half a second act as they were
  // told, whatever a pause moves.
  void add_calls(std::uint32_t number, std::size_t place, std::vector<Extra>& extras) const {
    const nanoseconds interval = plan_.keys[number].interval;
    std::vector<Span> pauses;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.keys.empty() || event.keys[0] != number || place_of(asked) != place ||
          asked.arrived == kNever)
        continue;
      if (event.kind == Kind::charge) pauses.push_back({asked.arrived, asked.departed});
      if (event.kind != Kind::refund) continue;
      const auto back = static_cast<std::int64_t>(
          asked.received != kNever && asked.reply.kind == Reply::Kind::integer
              ? std::min(static_cast<std::uint64_t>(asked.reply.integer), event.units) + 1
              : event.units);
      extras.push_back(
          {asked.arrived, asked.departed == kNever ? history_.end : asked.departed, interval * back});
    }
    if (!is_shared() || !plan_.keys[number].asks_first()) return;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind == Kind::acquire && event.keys[0] == number &&
          overlaps(pauses, {asked.arrived, asked.departed}))
        extras.push_back({asked.arrived, kNever, interval * static_cast<std::int64_t>(event.units)});
    }
  }

  // By the clock that may have counted: a shared store's or, in the fallback, a server's.
  std::int64_t drifted(nanoseconds time, std::size_t place) const {
    const std::vector<std::int64_t>& all = plan_.drift_ppm;
    const std::int64_t ppm = is_shared() ? *std::max_element(all.begin(), all.end()) : all[place];
    return time.count() + static_cast<std::int64_t>(static_cast<__int128>(time.count()) * ppm / 1'000'000);
  }

  // When all servers of that place had gone over to another limits file, which it then was; kNever: not yet.
  History::Form last_form(std::size_t place) const {
    History::Form last{0ns, Plan::usual};
    for (std::size_t i = 0; i < plan_.servers; ++i) {
      if (!is_shared() && i != place) continue;
      const auto& forms = history_.forms[i];
      if (forms.empty() || (last.at > 0ns && forms.back().form != last.form)) return {kNever, Plan::usual};
      auto since = forms.end() - 1;
      while (since != forms.begin() && (since - 1)->form == since->form) --since;
      last = {std::max(last.at, since->at), since->form};
    }
    return last;
  }

  // Under two files in turn, a key has the greater burst and the smaller interval. Once all go by one, it has
  // that one's.
  void account_by_last_file(std::uint32_t number, std::size_t place, const std::vector<Act>& acts) {
    const History::Form last = last_form(place);
    if (last.at == kNever || last.form < Plan::half_burst || last.form >= Plan::wrong) return;
    const Key key = plan_.by_form(plan_.keys[number], last.form);
    std::vector<Act> since;
    std::copy_if(acts.begin(), acts.end(), std::back_inserter(since), [&](const Act& act) {
      return !act.disturbed && act.earliest > last.at + kRecovery + kLease;
    });
    keeps_promise(key, place, since, extras_of(key, number, place), {}, "promise of the last limits file");
  }

  void account(std::uint32_t number, std::size_t place) {
    if (!plan_.keys[number].is_rate()) return;
    std::vector<Act> acts = acts_of(number, place);
    if (acts.empty()) return;
    const Key& key = plan_.keys[number];
    const std::vector<Extra> extras = extras_of(key, number, place);
    if (key.use == Key::For::charges) {
      account_with_charges(number, place, acts, extras);
      account_with_remaining(number, place, acts, extras);
    }
    if (plan_.by_file) account_by_last_file(number, place, acts);
    if (key.leaves > 0) {
      std::vector<Act> bulk;
      std::copy_if(acts.begin(), acts.end(), std::back_inserter(bulk),
                   [](const Act& act) { return !act.disturbed && act.asked->event->bulk; });
      keeps_promise(key, place, bulk, extras, {}, "promise of the class", key.leaves);
    }
    if (!is_shared()) return keeps_promise(key, place, acts, extras, {}, "promise");
    std::vector<Act> by_store;
    std::copy_if(acts.begin(), acts.end(), std::back_inserter(by_store),
                 [](const Act& act) { return !act.disturbed; });
    keeps_promise(key, place, by_store, extras, {}, "promise of the store");
    if (plan_.on_store_error == OnStoreError::allow) return;
    std::vector<Extra> with_fallback = extras;
    std::vector<Span> shared;
    if (plan_.on_store_error == OnStoreError::local) add_fallback(number, with_fallback, shared);
    keeps_promise(key, place, acts, with_fallback, shared, "promise with the fallback");
  }

  // What was charged from outside before a request came has left it that much less. Nobody waits there, so
  // all that was admitted before it was decided before.
  void account_with_charges(std::uint32_t number, std::size_t place, std::vector<Act> acts,
                            std::vector<Extra> extras) {
    const Key& key = plan_.keys[number];
    std::erase_if(acts, [&](const Act& act) { return is_shared() && act.disturbed; });
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind != Kind::charge || event.keys[0] != number || place_of(asked) != place ||
          charged(asked) == 0)
        continue;
      if (!is_shared() || !disturbed(asked))
        acts.push_back({asked.arrived, asked.departed, charged(asked), false, &asked});
    }
    std::sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) { return a.earliest > b.earliest; });
    std::sort(extras.begin(), extras.end(), [](const Extra& a, const Extra& b) { return a.until > b.until; });
    for (const Act& last : acts) {
      if (last.asked->event->kind == Kind::charge) continue;
      nanoseconds sum{0};
      auto extra = extras.begin();
      for (const Act& act : acts) {
        const bool is_charge = act.asked->event->kind == Kind::charge;
        if (is_charge ? act.latest >= last.asked->arrived : act.latest > last.latest) continue;
        sum += key.interval * static_cast<std::int64_t>(act.units);
        for (; extra != extras.end() && extra->until >= act.earliest; ++extra) {
          if (extra->from <= last.latest) sum -= extra->time;
        }
        const nanoseconds drains{drifted(last.latest, place) - drifted(act.earliest, place)};
        const nanoseconds over = sum - drains - key.interval * key.burst - kTolerance;
        if (over > 0ns)
          return wrong("promise beside charges", key.name + " " + key.rule() + ": from " +
                                                     seconds(act.earliest) + " to " + about(*last.asked) +
                                                     " is more by " + seconds(over) + ":" +
                                                     listed(acts, {act.earliest, last.latest}));
      }
    }
  }

  // No more is there, once somebody has told what remains, but for what goes back since.
  void account_with_remaining(std::uint32_t number, std::size_t place, std::vector<Act> acts,
                              std::vector<Extra> extras) {
    const Key& key = plan_.keys[number];
    std::erase_if(acts, [&](const Act& act) { return is_shared() && act.disturbed; });
    std::sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) { return a.latest < b.latest; });
    for (const Asked& asked : history_.asked) {
      if (asked.event->kind != Kind::settle || asked.arrived == kNever) continue;
      const Event& of = *by_event_.at(asked.event->of)->event;
      if (of.keys[0] != number || asked.event->units >= of.units) continue;
      extras.push_back({asked.arrived, asked.departed == kNever ? history_.end : asked.departed,
                        key.interval * static_cast<std::int64_t>(of.units - asked.event->units)});
    }
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      const bool tells = event.kind == Kind::charge && event.form == Event::Form::remaining;
      if (!tells || event.keys[0] != number || place_of(asked) != place || asked.received == kNever ||
          asked.reply.kind != Reply::Kind::values || (is_shared() && disturbed(asked)))
        continue;
      remains(key, place, asked, acts, extras);
    }
  }
  void remains(const Key& key, std::size_t place, const Asked& told, const std::vector<Act>& acts,
               const std::vector<Extra>& extras) {
    nanoseconds sum{0};
    for (const Act& act : acts) {
      if (act.earliest <= told.departed) continue;
      if (act.latest > told.departed + 2 * key.interval * key.burst) return;
      const Event& event = *act.asked->event;
      // What goes back of a hold is counted apart.
      sum += key.interval * static_cast<std::int64_t>(event.kind == Kind::reserve ? event.units : act.units);
      nanoseconds may{drifted(act.latest, place) - drifted(told.arrived, place)};
      may += key.interval * static_cast<std::int64_t>(told.event->units) + kTolerance;
      for (const Extra& extra : extras) {
        if (extra.until >= told.arrived && extra.from <= act.latest) may += extra.time;
      }
      if (sum > may)
        return wrong("more than remains",
                     about(*act.asked) + " is more by " + seconds(sum - may) + ", by " + about(told));
    }
  }

  // The fallback continues from what the store has said last. Where nobody else asks the store, it admits no
  // more than that would have, until the store answers again and does not know of it.
  bool continues(const Span& disturbed) const {
    return plan_.servers == 1 && plan_.local_share == 1 &&
           std::none_of(plan_.events.begin(), plan_.events.end(), [&](const Event& event) {
             return event.kind == Kind::kill && event.at <= disturbed.to;
           });
  }

  // What the fallback of each server may admit while the store may not be heard: its share of the limit.
  void add_fallback(std::uint32_t number, std::vector<Extra>& extras, std::vector<Span>& shared) const {
    const Key& key = plan_.keys[number];
    const nanoseconds ahead = key.reserves ? plan_.longest_wait : 0ns;
    const auto burst = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::floor(static_cast<double>(key.burst) * plan_.local_share + 1e-9)));
    for (const auto& spans : history_.disturbed) {
      std::vector<Span> longer;
      for (const Span& each : spans) {
        const nanoseconds from = continues(each) ? each.to - kRecovery : each.from;
        extras.push_back({from, each.to + ahead, key.interval * burst});
        longer.push_back({from - kRounding, each.to + ahead + kRounding});
      }
      for (const Span& each : joined(longer)) shared.push_back(each);
    }
  }

  // `shared`: spans in which a server counts its share too.
  void keeps_promise(const Key& key, std::size_t place, std::vector<Act> acts,
                     const std::vector<Extra>& extras, const std::vector<Span>& shared, const char* check,
                     std::int64_t leaves = 0) {
    if (acts.empty()) return;
    // What may be admitted from the beginning of the world to that time, burst and extras apart.
    const auto drained = [&](nanoseconds at) {
      double more = 0;
      for (const Span& each : shared) {
        if (at > each.from) more += static_cast<double>((std::min(at, each.to) - each.from).count());
      }
      return drifted(at, place) + static_cast<std::int64_t>(std::ceil(more * plan_.local_share * 1.0002));
    };
    std::vector<nanoseconds> starts;
    for (const Act& act : acts) starts.push_back(act.earliest);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<std::int64_t> first;
    for (const nanoseconds start : starts) first.push_back(drained(start));
    SpanSum sums(starts, first);
    std::sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) { return a.latest < b.latest; });
    std::vector<Extra> coming = extras;
    std::sort(coming.begin(), coming.end(), [](const Extra& a, const Extra& b) { return a.from < b.from; });
    std::size_t next = 0;
    const std::int64_t full = (key.interval * (key.burst - leaves) + kTolerance).count();
    for (const Act& act : acts) {
      for (; next < coming.size() && coming[next].from <= act.latest; ++next)
        sums.add(coming[next].until, -coming[next].time.count());
      sums.add(act.earliest, (key.interval * static_cast<std::int64_t>(act.units)).count());
      const SpanSum::Most most = sums.most(act.earliest);
      const std::int64_t over = most.sum - drained(act.latest) - full;
      if (over <= 0) continue;
      return wrong(check,
                   key.name + " " + key.rule() + (is_shared() ? "" : " of server " + std::to_string(place)) +
                       ": from " + seconds(most.start) + " to " + seconds(act.latest) + " it admitted " +
                       std::to_string(static_cast<double>(over) / static_cast<double>(key.interval.count())) +
                       " units more than promised:" + listed(acts, {most.start, act.latest}));
    }
  }

  // What lies in a span, for people.
  std::string listed(const std::vector<Act>& acts, const Span& span) const {
    std::string text;
    for (const Act& act : acts) {
      if (act.earliest < span.from || act.latest > span.to) continue;
      text += "\n  " + std::to_string(act.units) + " from " + seconds(act.earliest) + " to " +
              seconds(act.latest) + ": " + about(*act.asked);
    }
    return text;
  }

  // ------------------------------------------------------------------------------------------ the denials

  // The longest that a key can owe, if all that may have been charged was, and nothing has gone back.
  struct Owed {
    struct Charge {
      nanoseconds from;
      nanoseconds until;
      std::uint64_t units;
    };
    std::vector<Charge> charges{};
    std::size_t next = 0;
    nanoseconds until{0};
  };

  nanoseconds calm_until() const {
    nanoseconds until = history_.end;
    for (const Event& event : plan_.events) {
      if (event.is_fault() && event.kind != Kind::save) until = std::min(until, event.at);
    }
    return until;
  }

  // As long as nothing has gone wrong and nothing is forgotten, no more is held of a key than may be.
  void holds(std::uint32_t number, std::size_t place) {
    const Key& key = plan_.keys[number];
    if (key.at_most == 0 || key.resets) return;
    const nanoseconds calm = calm_until();
    std::unordered_map<std::uint32_t, nanoseconds> ended;  // by event
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      // One over whose moment a pause lies is cancelled when it is asked for.
      const bool is_gone = event.kind == Kind::moment && asked.received != kNever &&
                           asked.reply.kind == Reply::Kind::integer && asked.reply.integer < 0;
      if (event.kind != Kind::cancel && event.kind != Kind::settle && !is_gone) continue;
      const auto [its, first] = ended.try_emplace(event.of, asked.sent);
      its->second = std::min(its->second, asked.sent);
    }
    std::vector<std::tuple<nanoseconds, std::int64_t, const Asked*>> changes;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      const bool reserves = event.kind == Kind::reserve || event.kind == Kind::acquire;
      if (!reserves || event.keys[0] != number || place_of(asked) != place) continue;
      if (asked.received == kNever || !asked.reply.allowed() || asked.departed > calm) continue;
      const nanoseconds hold = event.hold > 0ns ? event.hold : kTtl;
      nanoseconds until = asked.arrived + hold - hold / 1000;
      const auto found = ended.find(event.number);
      if (found != ended.end()) until = std::min(until, found->second);
      if (until <= asked.departed) continue;
      const auto units = static_cast<std::int64_t>(event.units);
      changes.emplace_back(asked.departed, units, &asked);
      changes.emplace_back(until, -units, &asked);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t held = 0;
    for (const auto& [at, units, asked] : changes) {
      held += units;
      if (held > key.at_most)
        return wrong("held", about(*asked) + ": " + std::to_string(held) + " units are held, and at most " +
                                 std::to_string(key.at_most) + " may be");
    }
  }

  // As long as nothing has gone wrong, what is denied has a key without room for it. With leases others may
  // have what is left.
  void denials() {
    if (plan_.lease > 0) return;
    const nanoseconds calm = calm_until();
    std::map<std::pair<std::uint32_t, std::size_t>, Owed> owed;
    std::vector<const Asked*> denied;
    for (const Asked& asked : history_.asked) {
      if (asked.arrived == kNever) continue;
      const Event& event = *asked.event;
      const bool is_told = asked.departed <= calm && asked.received != kNever;
      const bool decides = event.kind <= Kind::acquire;
      const bool is_denied = decides && is_told && asked.reply.denied() && !disturbed(asked);
      const bool is_never = event.keys.size() == 1 &&
                            least_of(event) > static_cast<std::uint64_t>(plan_.keys[event.keys[0]].burst);
      // One unit more than was granted is denied too.
      const bool is_partly =
          decides && is_told && asked.reply.allowed() && !disturbed(asked) && units_of(asked) < event.units;
      if ((is_denied && !is_never) || is_partly) denied.push_back(&asked);
      // Over several nodes each is charged, and where another denies it is given back.
      if (is_denied && (event.keys.size() == 1 || plan_.store != Plan::Store::cluster)) continue;
      // What is in line is charged when it is granted.
      const bool in_line = event.kind == Kind::acquire && event.bulk;
      const nanoseconds until = std::min(asked.departed, asked.arrived +
                                                             (is_shared()  ? 2 * kDeadline
                                                              : plan_.lags ? kLag
                                                                           : 0ns) +
                                                             (in_line ? event.time : 0ns));
      if (event.kind == Kind::charge) {
        const auto burst = static_cast<std::uint64_t>(plan_.keys[event.keys[0]].burst);
        owed[{event.keys[0], place_of(asked)}].charges.push_back(
            {asked.arrived, until, event.form == Event::Form::cost ? event.units : burst});
      }
      if (event.kind == Kind::settle) {
        const Event& of = *by_event_.at(event.of)->event;
        if (event.units > of.units)
          owed[{of.keys[0], place_of(asked)}].charges.push_back(
              {asked.arrived, until, event.units - of.units});
      }
      if (event.kind != Kind::check && event.kind != Kind::reserve && event.kind != Kind::acquire) continue;
      for (const std::uint32_t key : event.keys)
        owed[{key, place_of(asked)}].charges.push_back({asked.arrived, until, units_of(asked)});
    }
    for (auto& [where, its] : owed) {
      std::sort(its.charges.begin(), its.charges.end(),
                [](const auto& a, const auto& b) { return a.from < b.from; });
    }
    std::sort(denied.begin(), denied.end(),
              [](const Asked* a, const Asked* b) { return a->departed < b->departed; });
    for (const Asked* const each : denied) has_reason(*each, owed);
  }

  // What a request has to leave, rounded up.
  static std::int64_t left_free(const Event& event, const Key& key) {
    return event.bulk && key.leaves > 0 ? (key.burst + 1) / 2 : 0;
  }

  // The units of those in line for the key when that one asked: a RESERVE acts after them, one after the
  // other at what they asked, whether or not they act in the end.
  std::int64_t stand_in_line(std::uint32_t key, const Asked& asked) const {
    std::uint64_t units = 0;
    for_each_in_line(key, asked, [&](const Asked& other) { units += other.event->units; });
    return static_cast<std::int64_t>(units);
  }
  // The most of one of them that was denied in the end: until then it may have had a plan, in the hope that a
  // hold gives something back. What was granted is among what is owed.
  std::int64_t hopes_in_line(std::uint32_t key, const Asked& asked) const {
    std::uint64_t most = 0;
    for_each_in_line(key, asked, [&](const Asked& other) {
      if (!other.reply.allowed()) most = std::max<std::uint64_t>(most, other.event->units);
    });
    return static_cast<std::int64_t>(most);
  }
  // In a shared store the plan of one that was denied stands until it is cancelled there, or lapses.
  template <typename Visit>
  void for_each_in_line(std::uint32_t key, const Asked& asked, Visit&& visit) const {
    for (const Asked& other : history_.asked) {
      const auto& keys = other.event->keys;
      const nanoseconds lapses = is_shared() && !other.reply.allowed() ? kPlanLapses : 0ns;
      if (other.event->kind == Kind::acquire && other.arrived <= asked.departed &&
          (other.departed >= asked.arrived || asked.arrived - other.departed < lapses) &&
          place_of(other) == place_of(asked) && std::find(keys.begin(), keys.end(), key) != keys.end())
        visit(other);
    }
  }

  void has_reason(const Asked& asked, std::map<std::pair<std::uint32_t, std::size_t>, Owed>& owed) {
    const Event& event = *asked.event;
    // What was granted is among what is owed.
    const std::uint64_t lacks = asked.reply.allowed() ? 1 : least_of(event);
    nanoseconds nearest = kNever;
    for (const std::uint32_t number : event.keys) {
      const Key& key = plan_.keys[number];
      if (key.use != Key::For::checks && key.use != Key::For::charges) return;  // judge_calls() does
      if (key.changes) return;  // what is owed drains by either rate
      Owed& its = owed[{number, place_of(asked)}];
      for (; its.next < its.charges.size() && its.charges[its.next].from <= asked.departed; ++its.next) {
        const Owed::Charge& charge = its.charges[its.next];
        const nanoseconds takes = key.interval * static_cast<std::int64_t>(charge.units);
        its.until = std::max(its.until, charge.until) + takes + takes / 2000;  // by a clock that is slow
      }
      // An acquire is denied at once when too many wait.
      const nanoseconds wait = event.kind == Kind::reserve && !event.bulk ? event.time : 0ns;
      nanoseconds owes = std::max(0ns, its.until - asked.arrived);
      owes += kTolerance;
      nanoseconds room =
          key.interval * (key.burst - left_free(event, key) - static_cast<std::int64_t>(lacks)) + wait - owes;
      if (room >= 0ns) {
        room -=
            key.interval * (event.time > 0ns ? stand_in_line(number, asked) : hopes_in_line(number, asked));
      }
      nearest = std::min(nearest, room);
      if (key.at_most > 0 && event.kind != Kind::check) return;  // others may hold too much
    }
    if (nearest >= 0ns)
      wrong(asked.reply.allowed() ? "granted less for nothing" : "denied for nothing",
            about(asked) + ", with room for " + seconds(nearest) + " at each key");
  }

  // ------------------------------------------------------------------------------------ when all is well

  // After the last fault all servers agree: of a fresh key exactly the burst is admitted.
  void all_agree() {
    if (plan_.lease > 0) return;
    const auto number = static_cast<std::uint32_t>(plan_.keys.size() - 1);
    for (std::size_t place = 0; place < places(); ++place) {
      std::int64_t allowed = 0;
      bool all = true;
      for (const Asked& asked : history_.asked) {
        if (asked.event->keys.empty() || asked.event->keys[0] != number || place_of(asked) != place) continue;
        all = all && asked.received != kNever;
        allowed += asked.reply.allowed() ? 1 : 0;
      }
      if (all && allowed > 0 && allowed != plan_.keys[number].burst)
        wrong("convergence", "after the last fault " + std::to_string(allowed) + " of " +
                                 std::to_string(plan_.keys[number].burst) + " were admitted at place " +
                                 std::to_string(place));
    }
  }

  bool stepped_back_ = false;
  bool noted_ = false;
  std::unordered_map<std::uint32_t, std::uint64_t> undone_;  // by the reservation's event: what it cost
  std::unordered_map<std::uint32_t, const Asked*> acted_;    // and what told it that its moment has come
};

}  // namespace

Verdict judge(const Plan& plan, const History& history) { return Referee(plan, history).judge(); }

}  // namespace weir::simulation
