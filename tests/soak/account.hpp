// What a key has been admitted, against what it was promised: at most burst + W / T in any span W.
//
// The promise is checked as a debt that each admitted unit raises by T and that time lowers: over all spans
// at once, it must never pass burst x T. What is admitted may become known late, when its answer has come,
// and may be taken back; so the last seconds are kept as they happened and added up again with each change.
//
// Plain values. Not for: who decided (soak.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::inline v0_1::soak {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

class Account {
 public:
  // The order of what happens at one time.
  struct Moment {
    nanoseconds at;
    std::uint64_t number;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };

  Account() = default;
  Account(std::int64_t burst, nanoseconds interval) : full_(interval * burst), interval_(interval) {}

  void admit(Moment when, std::uint64_t units) { add({when, Kind::admitted, of(units)}); }
  // Something admitted before has never been.
  void take_back(Moment when, std::uint64_t units) {
    const auto found = std::find(events_.begin(), events_.end(), Event{when, Kind::admitted, of(units)});
    if (found != events_.end()) events_.erase(found);
  }
  // The clock that counts has passed over that time.
  void drain(Moment when, nanoseconds by) { add({when, Kind::drained, by}); }
  void forget(Moment when) { add({when, Kind::drained, nanoseconds::max()}); }
  // Those units may be admitted on top, once.
  void grant(Moment when, std::uint64_t units) { add({when, Kind::granted, of(units)}); }
  // It owes at least that, as others have told.
  void raise(Moment when, nanoseconds debt) { add({when, Kind::raised, debt}); }

  bool forgotten_since(Moment when) const {
    return std::any_of(events_.begin(), events_.end(),
                       [&](const Event& each) { return each.kind == Kind::drained && each.when > when; });
  }
  // How far the debt has been above what is promised, at its worst in the time that is kept.
  nanoseconds excess() const { return replay(events_.size()).worst; }
  nanoseconds debt(nanoseconds now) const {
    const Sum sum = replay(events_.size());
    return std::max(0ns, sum.debt - (now - sum.at));
  }
  // What is older cannot change any more.
  void settle(nanoseconds before) {
    const auto last = std::find_if(events_.begin(), events_.end(),
                                   [&](const Event& each) { return each.when.at >= before; });
    base_ = replay(static_cast<std::size_t>(last - events_.begin()));
    base_.worst = -full_;
    events_.erase(events_.begin(), last);
  }
  bool settled(nanoseconds at) const { return at < base_.at; }

 private:
  enum class Kind : std::uint8_t { admitted, drained, granted, raised };
  struct Event {
    Moment when;
    Kind kind;
    nanoseconds of;
    friend bool operator==(const Event&, const Event&) = default;
  };
  struct Sum {
    nanoseconds at{0};
    nanoseconds debt{0};
    nanoseconds granted{0};
    nanoseconds granted_at{0};
    nanoseconds worst = nanoseconds::min();
  };
  // After that long a grant has had its effect: a key at rest then has none left.
  static constexpr nanoseconds kGranted = 2s;

  nanoseconds of(std::uint64_t units) const { return interval_ * static_cast<std::int64_t>(units); }

  void add(Event event) {
    events_.insert(std::upper_bound(events_.begin(), events_.end(), event,
                                    [](const Event& a, const Event& b) { return a.when < b.when; }),
                   event);
  }

  Sum replay(std::size_t events) const {
    Sum sum = base_;
    for (std::size_t i = 0; i < events; ++i) {
      const Event& each = events_[i];
      sum.debt = std::max(0ns, sum.debt - (each.when.at - sum.at));
      sum.at = each.when.at;
      if (sum.debt == 0ns && sum.at - sum.granted_at > kGranted) sum.granted = 0ns;
      switch (each.kind) {
        case Kind::admitted: {
          sum.debt += each.of;
          const nanoseconds over = std::clamp(sum.debt - full_, 0ns, sum.granted);
          sum.debt -= over;
          sum.granted -= over;
          sum.worst = std::max(sum.worst, sum.debt - full_);
          break;
        }
        case Kind::drained:
          sum.debt = std::max(0ns, sum.debt - std::min(sum.debt, each.of));
          break;
        case Kind::granted:
          sum.granted += each.of;
          sum.granted_at = sum.at;
          break;
        case Kind::raised:
          sum.debt = std::max(sum.debt, each.of);
          break;
      }
    }
    return sum;
  }

  nanoseconds full_{0};
  nanoseconds interval_{0};
  Sum base_{};
  std::vector<Event> events_;  // in order
};

}  // namespace weir::soak
