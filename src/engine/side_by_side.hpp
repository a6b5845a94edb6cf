// The shared store, with the engine that is checked as its Redis, beside weir's own store: both are asked the
// same at the same times, and must answer alike, to the nanosecond.
//
// The calls are those of the program: redis::SharedStore makes them and reads the answers. The times are
// handed to the scripts, so that a sequence decides the same on every run; they begin some seconds ahead of
// the engine's clock, by which keys expire, so that nothing is forgotten too early.
//
// One thread. Not for: whether the engine's own clock can be used (clock_cases.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sliding_window_log.hpp"
#include "engine/bench.hpp"
#include "redis/shared_store.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::engine {

class SideBySide {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `lasts`: the keys outlive the sequence by more than a minute, and are given an earlier end.
  explicit SideBySide(Bench& bench, bool lasts = false);

  // A limit by its text, as "5/s burst 10"; it stays until the end.
  store::Limit& limit(const std::string& rule);

  struct Part {
    const store::Limit* limit;
    std::string_view key;
    std::uint64_t cost = 1;
    bool shadow = false;
  };
  void advance(nanoseconds time);
  // Each throws Seen at the first answer in which the two differ.
  void ask(store::Verb verb, const std::vector<Part>& asks);
  void check(const store::Limit& limit, std::string_view key, std::uint64_t cost = 1) {
    ask(store::Verb::check, {{&limit, key, cost}});
  }
  // By the sliding window log, which weir's own store has no room for: src/core decides beside it. One key.
  void check_log(const store::Limit& limit, std::string_view key, std::uint64_t cost = 1);
  // Several checks of one key at once, which travel together.
  void check_at_once(const store::Limit& limit, std::string_view key, std::size_t times);
  void take(const std::vector<Part>& asks, std::uint64_t least, std::uint64_t most);
  void charge(const std::vector<Part>& asks, const Outside& outside);
  // The number by which the next ones know it.
  std::size_t reserve(const std::vector<Part>& asks, nanoseconds max_wait, nanoseconds hold = nanoseconds{0});
  void undo(store::Verb verb, std::size_t number, nanoseconds hold = nanoseconds{0},
            std::optional<std::uint64_t> actual = {});
  void check_and_give_back(const store::Limit& limit, std::string_view key, std::uint64_t cost,
                           nanoseconds after);

  Outcome outcome() const;
  // What a check of a key is answered where something else lies under it.
  std::string fault_of(const store::Limit& limit, std::string_view key);

 private:
  struct Both;
  void submit(Both& both, const std::string& what);
  void settle();
  void carry_out(redis::Client::NodeId node, std::string_view bytes);
  std::string answer(std::span<const std::string_view> words);

  Bench& bench_;
  bool lasts_;
  nanoseconds began_;
  nanoseconds now_;
  std::string error_;  // the last error that the engine answered a script
  std::size_t asked_ = 0;
  std::vector<std::unique_ptr<store::Limit>> limits_;
  std::vector<std::pair<std::string, std::string>> ids_;
  core::sliding_window_log::State log_;
  std::vector<core::sliding_window_log::Entry> ring_ = std::vector<core::sliding_window_log::Entry>(64);
  store::EmbeddedStore own_{std::size_t{1} << 20};
  store::EmbeddedStore local_{std::size_t{1} << 20};
  redis::ProcessMemory memory_;
  redis::SharedStore shared_;
};

}  // namespace weir::engine
