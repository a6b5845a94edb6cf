#include "simulation/lines_referee.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "simulation/evidence.hpp"

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;
using For = Key::For;

class LinesReferee : Evidence {
 public:
  LinesReferee(const Plan& plan, const History& history) : Evidence(plan, history) {
    calm_ = history_.end;
    for (const Asked& asked : history_.asked)
      if (asked.event->kind == Kind::settle && asked.departed != kNever) settled_.insert(asked.event->of);
    for (const Event& event : plan_.events) {
      if (event.is_fault() && event.kind != Kind::save) calm_ = std::min(calm_, event.at);
    }
  }

  Verdict judge() {
    order();
    never();
    std::uint32_t stages = 0;
    for (const Key& key : plan_.keys) stages = std::max(stages, key.stage);
    for (std::uint32_t stage = 1; stage <= stages; ++stage) {
      for (std::size_t place = 0; place < places() && verdict_.holds(); ++place) {
        slots(stage, place);
        pauses(stage, place);
        patience(stage, place);
      }
    }
    return verdict_;
  }

 private:
  using All = std::vector<const Asked*>;

  // When it stood in line no longer, as far as its server knew at the latest.
  static nanoseconds left(const Asked& asked) { return std::min(asked.departed, asked.ended); }
  bool is_granted(const Asked& asked) const { return asked.received != kNever && asked.reply.allowed(); }

  // ---------------------------------------------------------------------------------------------- order

  // Of those who ask one server for the same keys by the same class nobody passes one that came earlier.
  void order() {
    if (is_shared() || plan_.lags) return;  // a store that is shared books their moments ahead
    std::map<std::tuple<std::size_t, std::uint64_t, std::vector<std::uint32_t>, bool>, All> lines;
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind == Kind::acquire && asked.arrived != kNever && !event.slower)
        lines[{asked.server, asked.life, event.keys, event.bulk}].push_back(&asked);
    }
    for (auto& [line, all] : lines) {
      std::stable_sort(all.begin(), all.end(),
                       [](const Asked* a, const Asked* b) { return a->arrived < b->arrived; });
      const Asked* last = nullptr;  // to leave, of those that have come earlier
      for (std::size_t i = 0, earlier = 0; i < all.size(); ++i) {
        for (; all[earlier]->arrived < all[i]->arrived; ++earlier)
          if (last == nullptr || left(*all[earlier]) > left(*last)) last = all[earlier];
        if (last != nullptr && is_granted(*all[i]) && left(*last) > all[i]->departed)
          return wrong("passed in line", about(*all[i]) + ", before " + about(*last));
      }
    }
  }

  // What fits into the burst is not told that it never will.
  void never() {
    for (const Asked& asked : history_.asked) {
      const Event& event = *asked.event;
      if (event.kind != Kind::acquire || asked.received == kNever || !asked.reply.denied()) continue;
      const bool is_too_much = std::any_of(event.keys.begin(), event.keys.end(), [&](std::uint32_t number) {
        const Key& key = plan_.keys[number];
        return key.stage == 0 || (!key.is_slots() && event.units > static_cast<std::uint64_t>(key.burst));
      });
      if (!is_too_much && asked.reply.values[3] < 0) return wrong("never", about(asked));
    }
  }

  // ------------------------------------------------------------------------------------- pauses, slots

  bool is_of(const Asked& asked, std::uint32_t stage, std::size_t place) const {
    return !asked.event->keys.empty() && asked.arrived != kNever && place_of(asked) == place &&
           plan_.keys[asked.event->keys[0]].stage == stage;
  }
  static bool asks_for(const Asked& asked, std::uint32_t key) {
    return std::find(asked.event->keys.begin(), asked.event->keys.end(), key) != asked.event->keys.end();
  }
  All all_of(std::uint32_t stage, std::size_t place) const {
    All all;
    for (const Asked& asked : history_.asked)
      if (is_of(asked, stage, place)) all.push_back(&asked);
    return all;
  }
  // Nothing is forgotten meanwhile.
  bool is_even(const Key& key, std::size_t place, const Span& span) const {
    return std::none_of(history_.losses.begin(), history_.losses.end(), [&](const History::Loss& loss) {
      return loss.place == lost_with(key, place) && loss.at >= span.from && loss.at <= span.to;
    });
  }

  // Before the end of a pause nobody acts, whatever other key it asks for.
  void pauses(std::uint32_t stage, std::size_t place) {
    const All all = all_of(stage, place);
    for (const Asked* const pause : all) {
      if (pause->event->kind != Kind::charge || pause->received == kNever ||
          pause->reply.kind != Reply::Kind::values || (is_shared() && disturbed(*pause)))
        continue;
      const std::uint32_t number = pause->event->keys[0];
      const nanoseconds time = pause->event->time;
      const nanoseconds end = pause->arrived + time - time / 2000 - kRounding;
      for (const Asked* const asked : all) {
        const Event& event = *asked->event;
        const bool waits = event.kind == Kind::reserve && asked->reply.values[3] > 0;
        const bool acts = event.kind == Kind::check || event.kind == Kind::acquire ||
                          (event.kind == Kind::reserve && !waits);
        const nanoseconds from = event.kind == Kind::acquire ? asked->departed : asked->arrived;
        if (!acts || !is_granted(*asked) || !asks_for(*asked, number)) continue;
        if (from <= pause->departed || asked->departed >= end) continue;
        if (!is_even(plan_.keys[number], place, {pause->arrived, asked->departed})) continue;
        return wrong("acts in a pause",
                     about(*asked) + " acts before " + seconds(end) + ", by " + about(*pause));
      }
    }
  }

  // No more are open than there are, from the grant until its client has settled it.
  void slots(std::uint32_t stage, std::size_t place) {
    for (std::uint32_t number = 0; number < plan_.keys.size(); ++number) {
      const Key& key = plan_.keys[number];
      if (key.stage != stage || key.use != For::line_slots) continue;
      std::vector<std::tuple<nanoseconds, int, const Asked*>> changes;
      for (const Asked* const asked : all_of(stage, place)) {
        if (!asks_for(*asked, number) || !is_granted(*asked) || asked->event->call == 0ns) continue;
        const nanoseconds until =
            std::min(asked->received + asked->event->call, loss_after(key, place, *asked));
        if (until <= asked->departed) continue;
        changes.emplace_back(asked->departed, 1, asked);
        changes.emplace_back(until, -1, asked);
      }
      std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
        return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
      });
      std::int64_t open = 0;
      for (const auto& [at, by, asked] : changes) {
        open += by;
        if (open > key.burst)
          return wrong("slots in line",
                       about(*asked) + ": " + std::to_string(open) + " of " + key.rule() + " are open");
      }
    }
  }
  nanoseconds loss_after(const Key& key, std::size_t place, const Asked& asked) const {
    nanoseconds first = kNever;
    for (const History::Loss& loss : history_.losses)
      if (loss.place == lost_with(key, place) && loss.at >= asked.arrived) first = std::min(first, loss.at);
    return first;
  }

  // ------------------------------------------------------------------------------------------- patience

  // How long a request takes alone, at the slowest of its rates; a slot for as long as it is held. Until it
  // has that it plans nothing at its rates, so that it may find there what one that came later has planned.
  nanoseconds takes(const Asked& asked) const {
    const auto units = static_cast<std::int64_t>(asked.event->units);
    nanoseconds rates{0}, others{0}, slot{0};
    for (const std::uint32_t number : asked.event->keys) {
      const Key& key = plan_.keys[number];
      if (key.is_slots()) {
        slot = holds(asked);
      } else {
        rates = std::max(rates, key.interval * units);
        others = std::max(others, key.interval * key.burst);
      }
    }
    return slot.count() == 0 ? rates : slot + rates + others;
  }
  // Of a client that has gone, or whose settlement is lost, until its time is over, which it may have
  // extended.
  nanoseconds holds(const Asked& asked) const {
    const bool is_settled = settled_.contains(asked.event->number);
    return is_settled ? asked.event->call + kUnderWay : 2 * asked.event->hold;
  }

  // As long as nothing has gone wrong, nobody waits longer than all who came before it take one after the
  // other, from what its keys owe on; those who do not stand in line take what they do besides.
  void patience(std::uint32_t stage, std::size_t place) {
    nanoseconds full{0};  // what its keys can owe, and once more for what is told ahead of the first
    for (const Key& key : plan_.keys)
      if (key.stage == stage && !key.is_slots()) full += 3 * key.interval * key.burst;
    nanoseconds before{0};  // what those take that are in line or hold slots
    All in_line;
    std::vector<Aside> aside;
    for (const Asked* const asked : all_of(stage, place)) {
      const Event& event = *asked->event;
      const nanoseconds took = takes(*asked);
      if (event.kind == Kind::acquire) {
        in_line.push_back(asked);
      } else if (event.kind == Kind::check || event.kind == Kind::reserve) {
        aside.push_back({asked->arrived, asked->arrived + event.time, took});
      } else if (event.kind == Kind::charge) {
        aside.push_back({asked->arrived, asked->arrived + event.time, event.time + full});
      }
    }
    std::stable_sort(in_line.begin(), in_line.end(),
                     [](const Asked* a, const Asked* b) { return a->arrived < b->arrived; });
    std::multimap<nanoseconds, nanoseconds> leaving;  // when, and what it takes
    for (const Asked* const asked : in_line) {
      if (asked->arrived >= calm_) return;
      for (; !leaving.empty() && leaving.begin()->first <= asked->arrived; leaving.erase(leaving.begin()))
        before -= leaving.begin()->second;
      const nanoseconds took = takes(*asked);
      const nanoseconds until = std::min(left(*asked), calm_);
      const nanoseconds most = before + took + full + of_aside(aside, {asked->arrived, until});
      const nanoseconds waited = until - asked->arrived;
      if (waited > most + most / 1000 + kLate)
        return wrong("waits longer than all before it take",
                     about(*asked) + ", for " + seconds(waited) + " where " + seconds(most) +
                         " are enough:" + listed(in_line, {asked->arrived, until}));
      before += took;
      leaving.emplace(ends(*asked), took);
    }
  }
  // A slot is taken until its call has ended.
  nanoseconds ends(const Asked& asked) const {
    const bool has_slot = std::any_of(asked.event->keys.begin(), asked.event->keys.end(),
                                      [&](std::uint32_t key) { return plan_.keys[key].is_slots(); });
    if (asked.departed == kNever) return has_slot ? asked.ended + asked.event->hold : asked.ended;
    return has_slot && !asked.reply.denied() ? asked.departed + holds(asked) : left(asked);
  }

  // For people.
  std::string listed(const All& all, const Span& span) const {
    std::string text;
    for (const Asked* const each : all)
      if (each->arrived <= span.to && left(*each) >= span.from) text += "\n  " + about(*each);
    return text;
  }

  struct Aside {
    nanoseconds from, until, takes;
  };
  static nanoseconds of_aside(const std::vector<Aside>& all, const Span& span) {
    nanoseconds sum{0};
    for (const Aside& each : all)
      if (each.from <= span.to && each.until >= span.from) sum += each.takes;
    return sum;
  }

  static constexpr nanoseconds kUnderWay = 20ms;  // a reply and a settlement
  static constexpr nanoseconds kLate = 50ms;

  nanoseconds calm_{0};
  std::set<std::uint32_t> settled_{};  // by the reservation's event
};

}  // namespace

Verdict judge_lines(const Plan& plan, const History& history) { return LinesReferee(plan, history).judge(); }

}  // namespace weir::simulation
