// Limits from rules as text, as requests bring them: "10/s burst 20", "100/min algorithm=fixed_window".
// Callers repeat few of them, so each is read once and kept.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "store/store.hpp"

namespace weir::inline v0_1::service {

class RuleTexts {
 public:
  static constexpr std::size_t kMostBytes = 128;
  static constexpr std::size_t kMostKept = 1024;

  // `wall`: how far the clock that windows go by is ahead of the one of the requests. `utc`: the one that
  // calendars go by.
  RuleTexts(OnStoreError on_store_error, store::Sharing sharing, std::chrono::nanoseconds wall,
            const core::ClockFunction& utc)
      : on_store_error_(on_store_error), sharing_(sharing), wall_(wall), utc_(utc) {}

  // Stays where it is until forget(). Null: the text is not a rule, and error() is a sentence for people.
  const store::Limit* find(std::string_view text);
  const std::string& error() const { return error_; }

  // That of a key that is named without a rule: of the limits that have no name.
  static const store::Limit& nameless() {
    static const auto kLimit =
        std::make_shared<const Kept>(store::Limit{.rule = core::Rule{Quota::per_second(1)}});
    return *kLimit;
  }
  // One of these, for longer than that.
  static std::shared_ptr<const store::Limit> share(const store::Limit& found) {
    return static_cast<const Kept&>(found).shared_from_this();
  }

  // No limit is in use any more, but those that are shared.
  void forget() {
    if (limits_.size() <= kMostKept) return;
    limits_.clear();
    last_ = nullptr;
  }

 private:
  struct Kept final : store::Limit, std::enable_shared_from_this<Kept> {
    explicit Kept(const store::Limit& limit) : store::Limit(limit) {}
  };
  using Known = std::pair<const std::string, std::shared_ptr<const Kept>>;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  OnStoreError on_store_error_;
  store::Sharing sharing_;
  std::chrono::nanoseconds wall_;
  const core::ClockFunction& utc_;
  std::unordered_map<std::string, std::shared_ptr<const Kept>, Hash, std::equal_to<>> limits_;
  const Known* last_ = nullptr;  // of them: most callers repeat one
  std::string error_;
};

}  // namespace weir::service
