// Which keys are denied most, and which are charged most, of late: what one event loop has counted, and what
// several have counted together. What a ban denies is counted apart, so that those who are banned and still
// ask take the place of nobody else.
//
// It counts in generations of 60 s that begin at the same moments in all loops, and keeps the one that runs
// and the one before. So an answer is about the last 60 to 120 s.
//
// One thread counts; any may ask, and they meet in a lock that nobody else takes. Not for: what a key is
// called (shown_key.hpp), and which decisions count.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steering/space_saving.hpp"
#include "store/spin.hpp"

namespace weir::inline v0_1::steering {

struct TopOptions {
  std::size_t entries = 1024;  // for each thing that is counted, and each generation
  std::uint64_t sample = 16;   // of as many units that are charged, one is counted
};

class TopKeys {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  enum class By : std::uint8_t { denied, cost };
  static constexpr std::array<std::string_view, 2> kNames = {"denied", "cost"};
  static constexpr nanoseconds kGeneration = std::chrono::seconds{60};
  static constexpr std::size_t kMostAsked = 1024;

  // `start` is when the first generation begins: the same for all that are asked together.
  TopKeys(TopOptions options, nanoseconds start);

  // One denial of a key.
  template <class NameIt>
  void deny(std::uint64_t hash, nanoseconds now, const NameIt& name) {
    const store::Held lock(mutex_);
    running(now).denied.add(hash, 1, name);
  }
  // One denial by a ban of it.
  template <class NameIt>
  void ban(std::uint64_t hash, nanoseconds now, const NameIt& name) {
    const store::Held lock(mutex_);
    running(now).banned.add(hash, 1, name);
  }
  // That many units of what a key was charged are in a sample of one in TopOptions::sample.
  template <class NameIt>
  void charge(std::uint64_t hash, std::uint64_t taken, nanoseconds now, const NameIt& name) {
    const store::Held lock(mutex_);
    running(now).cost.add(hash, taken, name);
  }

  struct Row {
    std::string limit;
    std::string key;
    std::uint64_t count = 0;  // the true one is at most that
    std::uint64_t error = 0;  // and at least that less
    bool banned = false;      // a ban of it has denied those
  };
  // Of all that was counted, whatever was asked.
  struct Answer {
    By by = By::denied;
    nanoseconds time{0};       // since when, until now
    std::uint64_t total = 0;   // denials but for those by bans, or units as the sample says
    std::size_t keys = 0;      // of them, told apart
    std::uint64_t banned = 0;  // denials by bans
    std::vector<Row> rows{};   // most first
  };
  // What these have counted together. `limit`: of that one alone, the rows; empty: of all.
  static Answer ask(std::span<const TopKeys* const> loops, By by, std::string_view limit, std::size_t most,
                    nanoseconds now);

 private:
  struct Generation {
    explicit Generation(std::size_t entries) : denied(entries), banned(entries), cost(entries) {}

    std::int64_t number = 0;
    SpaceSaving denied;
    SpaceSaving banned;
    SpaceSaving cost;
  };
  class Merge;

  std::int64_t number_at(nanoseconds now) const { return (now - start_) / kGeneration; }
  // The one to count in.
  Generation& running(nanoseconds now) WEIR_REQUIRES(mutex_) {
    if (now >= ends_) [[unlikely]]
      turn(now);
    return generations_[running_];
  }
  void turn(nanoseconds now) WEIR_REQUIRES(mutex_);

  const nanoseconds start_;
  const std::uint64_t every_;
  mutable store::SpinLock mutex_;  // a mutex is three times as many instructions
  std::array<Generation, 2> generations_ WEIR_GUARDED_BY(mutex_);
  std::size_t running_ WEIR_GUARDED_BY(mutex_) = 0;
  nanoseconds ends_ WEIR_GUARDED_BY(mutex_);  // when the running one does
};

// "denied", "cost" in any letter case.
std::optional<TopKeys::By> read_by(std::string_view word);

}  // namespace weir::steering
