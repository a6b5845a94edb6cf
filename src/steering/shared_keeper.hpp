// Overrides in a store that servers share (redis/overrides.lua): set if it is written there, and seen by all
// within two looks.
//
// One thread at a time; ahead() any. A set whose answer never comes is undone as soon as the store answers
// again, so that "not stored" stays true: what was there before has its place again. An override that is
// ended is not undone: its next look tells whether it is gone.
// Not for: connections. `ask` sends words to the script and waits for its answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "core/clock_function.hpp"
#include "core/random.hpp"
#include "steering/keeper.hpp"

namespace weir::inline v0_1::steering {

class SharedKeeper final : public Keeper {
 public:
  using Answer = std::vector<std::string>;  // integers as their digits
  // What the script answers to these words, or why it does not by the end of the patience, in words for an
  // operator.
  using Ask = std::function<tl::expected<Answer, std::string>(const std::vector<std::string>& words)>;
  static constexpr std::chrono::milliseconds kPatience{1000};

  SharedKeeper(Ask ask, core::ClockFunction wall_clock, core::Random random)
      : ask_(std::move(ask)), wall_(std::move(wall_clock)), random_(std::move(random)) {}

  bool durable() const override { return true; }
  tl::expected<std::uint64_t, std::string> take_number(const OverrideBook& book) override;
  std::optional<std::string> keep(const OverrideBook& book, const OperatorOverride* made,
                                  const std::vector<OverrideBook::Ptr>& ended) override;
  std::chrono::nanoseconds ahead() const override {
    return std::chrono::nanoseconds{ahead_.load(std::memory_order_relaxed)};
  }
  void forget(const std::vector<OverrideBook::Ptr>& ended) override;
  tl::expected<Changes, std::string> changes() override;

 private:
  static constexpr std::size_t kMostForgotten =
      10'000;  // that wait; what is beyond lies there until it is read again

  struct Answered {
    std::int64_t number = 0;
    Answer rest;
  };
  tl::expected<Answered, std::string> ask(const std::vector<std::string>& words);
  std::optional<std::string> set(const OverrideBook& book, const OperatorOverride& made);
  std::optional<std::string> make_up();
  void has_reached(const Answered& answer);
  tl::expected<Changes, std::string> whole();
  void take(const std::string& digest, const std::string& text, Changes& into);

  const Ask ask_;
  const core::ClockFunction wall_;
  const core::Random random_;
  std::atomic<std::int64_t> ahead_{0};
  std::int64_t version_ = -1;                             // that is known; below 0: none
  std::int64_t reached_ = -1;                             // by what was set, ended and found here
  std::unordered_map<std::string, std::uint64_t> known_;  // the numbers, by digest
  std::vector<std::vector<std::string>> to_undo_;         // words of the script
  std::vector<std::string> to_forget_;                    // words of `end`
};

}  // namespace weir::steering
