// Whether the store decides checks, as one event loop sees it: that is health, not that a greeting was
// answered.
//
// Fed with what became of each check, and told how the connection is. A store is failing while more than a
// tenth of the last checks was not decided; what a check says that was never asked of the store (a remembered
// denial, a lease) counts for neither, nor does a foreign value under a key, which is the asker's fault.
//
// One thread; the clock is handed in. Not for: what decides instead (fallback.hpp), logs and INFO
// (server/store_status.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::redis {

class Health {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // The later, the worse.
  enum class State : std::uint8_t {
    ready,
    connecting,  // for the first time; nothing has failed yet
    failing,     // connected, and does not decide
    down,        // not connected
  };
  struct View {
    State state = State::connecting;
    std::string why{};  // of failing and down, in one line
    friend bool operator==(const View&, const View&) = default;
  };

  // What became of a check: the store decided it; or answered with an error, or not in time.
  void decided(nanoseconds now) {
    if (now >= slot_end_) roll(now);
    ++recent_[0].decided;
    last_refused_ = false;
  }
  void refused(std::string_view why, nanoseconds now);

  // How the connection is: `error` is why there is none, empty while the first is being made. To be called
  // when something may have changed, and every second or so.
  void look(bool connected, std::string_view error, nanoseconds now);

  const View& view() const { return view_; }
  std::uint64_t changes() const { return changes_; }          // of the view
  std::uint64_t not_decided() const { return not_decided_; }  // checks, ever

 private:
  struct Outcomes {
    std::uint64_t decided = 0;
    std::uint64_t refused = 0;
  };

  void roll(nanoseconds now);
  bool fails(nanoseconds now) const;
  void become(State state, std::string_view why);

  Outcomes recent_[2];  // of this slot of time, and of the one before
  nanoseconds slot_end_{0};
  bool last_refused_ = false;
  nanoseconds refused_at_{0};
  std::string why_;
  bool connected_ = false;
  View view_;
  std::uint64_t changes_ = 0;
  std::uint64_t not_decided_ = 0;
};

constexpr std::string_view name_of(Health::State state) {
  switch (state) {
    case Health::State::ready:
      return "ready";
    case Health::State::connecting:
      return "connecting";
    case Health::State::failing:
      return "failing";
    case Health::State::down:
      break;
  }
  return "down";
}

}  // namespace weir::redis
