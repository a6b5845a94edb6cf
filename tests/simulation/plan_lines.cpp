#include "simulation/plan_lines.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;
using For = Key::For;

constexpr nanoseconds kLongestWait = 20s;

class LinesMaker {
 public:
  LinesMaker(Plan& plan, Chance chance, nanoseconds until, std::uint32_t& next)
      : plan_(plan), chance_(chance), until_(until), next_(next) {}

  void make(std::size_t events) {
    constexpr Stage::Of kStages[] = {Stage::one, Stage::one,  Stage::two,
                                     Stage::two, Stage::slot, Stage::slot};
    gap_ = std::max<nanoseconds>((until_ - kStart) / static_cast<std::int64_t>(events / std::size(kStages)),
                                 100us);
    for (const Stage::Of of : kStages) play(stage(of));
  }

 private:
  struct Stage {
    enum Of : std::uint8_t { one, two, slot };
    Of of;
    std::vector<std::uint32_t> keys{};
    std::int64_t burst = 0;     // the least of its rates'
    bool is_pure = false;       // acquires alone
    std::int64_t estimate = 1;  // of a cost: at most that many times as much
    nanoseconds call{0};        // at most
  };

  // What is asked for in a unit of time is about what its keys have.
  Stage stage(Stage::Of of) {
    Stage made{.of = of};
    made.is_pure = chance_.one_in(2);
    made.estimate = chance_.between(1, 5);
    const std::uint32_t number = ++stages_;
    const auto add_key = [&](For use, std::int64_t burst, nanoseconds interval) {
      Key key;
      key.name = (use == For::line ? "line" : "lineslots") + std::to_string(plan_.keys.size());
      key.use = use;
      key.burst = burst;
      key.interval = interval;
      key.reserves = true;
      key.stage = number;
      made.keys.push_back(static_cast<std::uint32_t>(plan_.keys.size()));
      plan_.keys.push_back(key);
    };
    made.burst = chance_.between(1, 20);
    const auto busy = [&] {
      const std::int64_t load = chance_.between(60, 140);  // percent
      const std::int64_t cost = (most_cost(made) + 1) / 2;
      return std::max<nanoseconds>(gap_ * load / 100 / cost / 1ms * 1ms, 2ms);
    };
    const nanoseconds interval = busy();
    made.call = interval * chance_.between(1, 2 * made.burst + 2);
    add_key(For::line, made.burst, interval);
    if (of == Stage::two) add_key(For::line, made.burst + chance_.between(0, 10), busy());
    if (of == Stage::slot) {
      const std::int64_t most = std::max<std::int64_t>(1, made.call / gap_);
      add_key(For::line_slots, chance_.between(1, std::min<std::int64_t>(most + 1, 8)), 1h);
    }
    return made;
  }
  static std::int64_t most_cost(const Stage& stage) {
    return std::max<std::int64_t>(1, stage.burst / stage.estimate);
  }

  void play(const Stage& stage) {
    reserved_.clear();
    for (nanoseconds at = kStart + chance_.between(0ns, gap_); at < until_;
         at += chance_.between(0ns, 2 * gap_)) {
      const std::uint64_t what = stage.is_pure ? 100 : chance_.below(100);
      if (what < 12) {
        Event& event = add(at, Kind::check, rates_of(stage));
        event.units = 1 + chance_.below(static_cast<std::uint64_t>(stage.burst));
      } else if (what < 22) {
        tell_ahead(at, stage);
      } else if (what < 26 && !reserved_.empty()) {
        Event& event = add(at, Kind::cancel, stage.keys);
        event.of =
            reserved_[reserved_.size() - 1 - chance_.below(std::min<std::size_t>(reserved_.size(), 4))];
      } else if (what < 29) {
        Event& event = add(at, Kind::charge, {rates_of(stage).back()});
        event.form = Event::Form::pause;
        event.afresh = event.number % 4 == 0;
        event.time = chance_.between(1, std::clamp<std::int64_t>(gap_ * 5 / 1ms, 5, 2000)) * 1ms;
      } else {
        acquire(at, stage);
      }
    }
  }

  Event& add(nanoseconds at, Kind kind, std::vector<std::uint32_t> keys) {
    Event& event = plan_.events.emplace_back();
    event.at = at;
    event.kind = kind;
    event.number = next_++;
    event.who = static_cast<std::uint32_t>(chance_.below(plan_.clients));
    event.keys = std::move(keys);
    return event;
  }

  // All of a stage's keys, or one of them; slots are taken by what is held.
  std::vector<std::uint32_t> rates_of(const Stage& stage) {
    if (stage.of != Stage::two) return {stage.keys[0]};
    if (chance_.one_in(2)) return stage.keys;
    return {chance_.any(stage.keys)};
  }
  void acquire(nanoseconds at, const Stage& stage) {
    std::vector<std::uint32_t> keys = stage.keys;
    if (keys.size() > 1 && chance_.percent(60)) keys = {chance_.any(stage.keys)};
    Event& event = add(at, Kind::acquire, std::move(keys));
    event.spends = 1 + chance_.below(static_cast<std::uint64_t>(most_cost(stage)));
    event.units = std::min<std::uint64_t>(event.spends * static_cast<std::uint64_t>(stage.estimate),
                                          static_cast<std::uint64_t>(stage.burst));
    event.time = chance_.one_in(4) ? chance_.between(0ns, 2s) / 1ms * 1ms : kLongestWait;
    event.call = chance_.between(1ms, std::max<nanoseconds>(stage.call, 2ms));
    event.hold = 2 * event.call / 1ms * 1ms + 1s;
    if (!stage.is_pure && chance_.percent(8)) event.patience = chance_.between(1ms, 500ms);
    plan_.longest_wait = std::max(plan_.longest_wait, event.time);
  }
  // One without a hold, or one that is settled.
  void tell_ahead(nanoseconds at, const Stage& stage) {
    Event& event = add(at, Kind::reserve, rates_of(stage));
    event.spends = 1 + chance_.below(static_cast<std::uint64_t>(most_cost(stage)));
    event.units = event.spends;
    event.time = chance_.between(0ns, 2s) / 1ms * 1ms;
    if (chance_.one_in(2)) {
      event.call = chance_.between(1ms, std::max<nanoseconds>(stage.call, 2ms));
      event.hold = 2 * event.call / 1ms * 1ms + 1s;
      event.spends = chance_.below(event.units + 1);
    }
    reserved_.push_back(event.number);
    plan_.longest_wait = std::max(plan_.longest_wait, event.time);
  }

  Plan& plan_;
  Chance chance_;
  const nanoseconds until_;
  std::uint32_t& next_;
  nanoseconds gap_{0};
  std::uint32_t stages_ = 0;
  std::vector<std::uint32_t> reserved_{};  // of the stage that is asked for
};

}  // namespace

void add_lines(Plan& plan, Chance chance, std::size_t events, nanoseconds until, std::uint32_t& next) {
  LinesMaker(plan, chance, until, next).make(events);
}

}  // namespace weir::simulation
