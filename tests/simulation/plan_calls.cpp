#include "simulation/plan_calls.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;
using For = Key::For;

class CallsMaker {
 public:
  CallsMaker(Plan& plan, Chance chance, nanoseconds until, std::uint32_t& next)
      : plan_(plan), chance_(chance), until_(until), next_(next) {}

  void make(std::size_t events) {
    constexpr For kUses[] = {For::slots,  For::slots,  For::charges, For::charges,
                             For::pauses, For::pauses, For::penalty, For::calendar};
    gap_ =
        std::max<nanoseconds>((until_ - kStart) / static_cast<std::int64_t>(events / std::size(kUses)), 1us);
    plan_.new_year = kStart + chance_.between((until_ - kStart) / 4, (until_ - kStart) * 3 / 4);
    for (const For use : kUses) {
      // Rules as text know no penalty.
      if (use != For::penalty || plan_.by_file) ask(add_key(use), use);
    }
  }

 private:
  std::uint32_t add_key(For use) {
    constexpr const char* kUseNames[] = {"checks", "slots", "out", "pause", "rest", "window"};
    constexpr const char* kUnits[] = {"hour", "day", "week", "month", "year"};
    const std::size_t number = plan_.keys.size();
    Key key;
    key.name = kUseNames[static_cast<std::size_t>(use)] + std::to_string(number);
    key.use = use;
    key.burst = use == For::slots      ? chance_.between(1, 4)
                : use == For::calendar ? chance_.between(20, 400)
                                       : chance_.between(1, 8);
    // In whole milliseconds, as rules say it.
    key.interval = std::max<nanoseconds>(chance_.between(gap_ / 2, 2 * gap_) / 1ms * 1ms, 2ms);
    if (use == For::slots) key.interval = 1h;
    key.reserves = use == For::slots || use == For::pauses || (use == For::charges && chance_.one_in(2));
    if (plan_.by_file && key.reserves && use != For::slots)
      key.at_most = key.burst;  // as a file says unless told
    if (use == For::penalty)
      key.penalty = std::clamp<nanoseconds>(chance_.between(2, 30) * key.interval, 10ms, 3s) / 1ms * 1ms;
    if (use == For::penalty && chance_.one_in(2)) key.most_penalty = 8 * key.penalty;
    if (use == For::calendar) key.unit = kUnits[chance_.below(std::size(kUnits))];
    plan_.keys.push_back(key);
    return static_cast<std::uint32_t>(number);
  }

  void ask(std::uint32_t number, For use) {
    granted_.clear();
    for (nanoseconds at = kStart + chance_.between(0ns, gap_); at < until_;
         at += chance_.between(0ns, 2 * gap_)) {
      switch (use) {
        case For::slots:
          hold_a_slot(at, number);
          break;
        case For::charges:
          charge(at, number);
          break;
        case For::pauses:
          pause(at, number);
          break;
        case For::penalty:
          add(at, chance_.one_in(20) ? Kind::look : Kind::check, number).units = 1 + chance_.below(2);
          break;
        default:
          count(at, number);
      }
    }
  }

  Event& add(nanoseconds at, Kind kind, std::uint32_t number) {
    Event& event = plan_.events.emplace_back();
    event.at = at;
    event.kind = kind;
    event.number = next_++;
    event.who = static_cast<std::uint32_t>(chance_.below(plan_.clients));
    event.keys = {number};
    return event;
  }
  // About one of the last that were granted, if any.
  Event* add_by_id(nanoseconds at, Kind kind, std::uint32_t number) {
    if (granted_.empty()) return nullptr;
    Event& event = add(at, kind, number);
    event.of = granted_[granted_.size() - 1 - chance_.below(std::min<std::size_t>(granted_.size(), 6))];
    return &event;
  }
  void add_about(std::uint32_t of, nanoseconds at, Kind kind, std::uint32_t number, nanoseconds time) {
    Event& event = add(at, kind, number);
    event.of = of;
    event.time = time / 1ms * 1ms;
    event.as_charged = true;
  }

  void hold_a_slot(nanoseconds at, std::uint32_t number) {
    const Key key = plan_.keys[number];
    if (chance_.percent(4)) {
      add_by_id(at, chance_.one_in(2) ? Kind::moment : Kind::cancel, number);
      return;
    }
    const nanoseconds longest = std::clamp<nanoseconds>(5 * key.burst * gap_, 20ms, kTtl);
    Event& event = add(at, chance_.percent(65) ? Kind::reserve : Kind::acquire, number);
    event.hold = chance_.between(longest / 10, longest) / 1ms * 1ms;
    if (event.kind == Kind::acquire) event.time = chance_.between(0, 1000) * 1ms;
    plan_.longest_wait = std::max(plan_.longest_wait, event.time);
    event.bound = !plan_.http[event.who] && chance_.percent(30);
    if (event.bound) {
      event.keeps = chance_.between(0ns, 2 * event.hold);
      event.resets = chance_.percent(40);
    }
    const nanoseconds hold = event.hold;
    const std::uint32_t of = event.number;
    granted_.push_back(of);
    if (chance_.percent(30))
      add_about(of, at + chance_.between(1ms, hold), Kind::extend, number, chance_.between(1ms, 2 * hold));
    if (chance_.percent(50)) add_about(of, at + chance_.between(1ms, 2 * hold), Kind::settle, number, 0ns);
    if (chance_.percent(20))
      add_about(of, at + chance_.between(hold / 2, 3 * hold), Kind::extend, number,
                chance_.between(1ms, hold));
  }

  void charge(nanoseconds at, std::uint32_t number) {
    const Key key = plan_.keys[number];
    const auto burst = static_cast<std::uint64_t>(key.burst);
    const std::uint64_t what = chance_.below(100);
    if (what < 10) {
      Event& event = add(at, Kind::charge, number);
      event.units = 1 + chance_.below(chance_.one_in(10) ? 5 * burst : burst);
    } else if (what < 16) {
      Event& event = add(at, Kind::charge, number);
      event.form = Event::Form::remaining;
      event.units = chance_.below(2 * burst);
    } else if (what < 22) {
      add(at, Kind::refund, number).units = 1 + chance_.below(3);
    } else if (key.reserves && what < 40) {
      Event& event = add(at, Kind::reserve, number);
      event.units = 1 + chance_.below(burst);
      event.hold = chance_.between(10, 3000) * 1ms;
      granted_.push_back(event.number);
    } else if (key.reserves && what < 50) {
      if (Event* const event = add_by_id(at, Kind::settle, number)) event->units = chance_.below(2 * burst);
    } else {
      Event& event = add(at, Kind::check, number);
      event.units = 1 + chance_.below(burst);
      if (chance_.one_in(6)) event.least = 1 + chance_.below(event.units);
    }
  }

  void pause(nanoseconds at, std::uint32_t number) {
    const Key key = plan_.keys[number];
    const auto burst = static_cast<std::uint64_t>(key.burst);
    const std::uint64_t what = chance_.below(100);
    if (what < 3) {
      Event& event = add(at, Kind::charge, number);
      event.form = Event::Form::pause;
      event.afresh = event.number % 4 == 0;
      event.time = chance_.between(1ms, std::clamp<nanoseconds>(20 * key.interval, 5ms, 3s)) / 1ms * 1ms;
    } else if (what < 12) {
      if (Event* const event = add_by_id(at, chance_.one_in(3) ? Kind::cancel : Kind::settle, number))
        event->units = chance_.below(burst);
    } else if (what < 45) {
      Event& event = add(at, chance_.percent(70) ? Kind::reserve : Kind::acquire, number);
      event.units = 1 + chance_.below(burst);
      event.time = chance_.between(0ns, std::min<nanoseconds>(20 * key.interval, 1s)) / 1ms * 1ms;
      plan_.longest_wait = std::max(plan_.longest_wait, event.time);
      if (chance_.percent(60)) event.hold = chance_.between(10, 3000) * 1ms;
      if (event.kind == Kind::reserve) granted_.push_back(event.number);
    } else {
      add(at, Kind::check, number).units = chance_.percent(70) ? 1 : 1 + chance_.below(burst);
    }
  }

  void count(nanoseconds at, std::uint32_t number) {
    const std::uint64_t what = chance_.below(100);
    Event& event = add(at, what < 8 ? Kind::charge : what < 14 ? Kind::refund : Kind::check, number);
    event.units = 1 + chance_.below(3);
    if (event.kind != Kind::charge || !chance_.one_in(4)) return;
    event.form = Event::Form::remaining;
    event.units = chance_.below(static_cast<std::uint64_t>(plan_.keys[number].burst));
  }

  Plan& plan_;
  Chance chance_;
  const nanoseconds until_;
  std::uint32_t& next_;
  nanoseconds gap_{0};
  std::vector<std::uint32_t> granted_{};  // of the key that is asked for
};

}  // namespace

void add_calls(Plan& plan, Chance chance, std::size_t events, nanoseconds until, std::uint32_t& next) {
  CallsMaker(plan, chance, until, next).make(events);
}

}  // namespace weir::simulation
