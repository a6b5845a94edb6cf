// What a script tells of a key that is in a ledger (ledger.lua), as of the moment at which it was asked:
// enough to decide requests there by the numbers by which it was counted.
//
// A value; any thread. Not for: a key whose state is all (core/rule.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "weir/charge.hpp"

namespace weir::inline v0_1::redis {

class LedgerView {
 public:
  static constexpr std::string_view kMark = "weir1v ";

  // Nothing for any other text.
  static std::optional<LedgerView> read(std::string_view text);

  // As core::decide(). One that is denied is told of the cost that was asked for.
  core::Step decide(const core::Rule& rule, Cost cost) const;
  // What decide() has allowed.
  void charge(Cost cost);
  // Of one that was asked for one unit after a charge from outside of these units.
  Charged told(const core::Rule& rule, std::uint64_t units) const;
  // What the charge that was asked for has charged.
  std::uint64_t charged() const { return charged_; }
  // By all that act up to then, ns.
  std::uint64_t owed() const { return owed_; }
  // Of such a text: somebody acts later, so that what is owed then denies less until then.
  static bool has_later(std::string_view text) {
    const auto view = read(text);
    return view && view->sum_ > 0;
  }

 private:
  // ns, from then on.
  std::uint64_t interval_ = 1;
  std::uint64_t free_ = 0;
  std::uint64_t owed_ = 0;  // by all that act up to then
  std::uint64_t sum_ = 0;   // what is owed after all is max(owed_ + sum_, least_)
  std::uint64_t least_ = 0;
  std::uint64_t retry_after_ = 0;
  std::uint64_t rest_ = 0;     // after all, of which nothing is counted by other numbers
  std::uint64_t charged_ = 0;  // units
};

// What is known of a key by its state.
struct KeyState {
  core::TwoWords words{};
  std::optional<LedgerView> ledger{};
  std::optional<LedgerView> then{};  // of a request that was asked for twice: the second time

  core::Step decide(const core::Rule& rule, std::chrono::nanoseconds now, Cost cost) const {
    return ledger ? ledger->decide(rule, cost) : core::decide(rule, words, now, cost);
  }
  Decision look(const core::Rule& rule, std::chrono::nanoseconds now, Cost cost) const {
    return core::look(decide(rule, now, Cost{0}).decision(), decide(rule, now, cost).decision());
  }
};

}  // namespace weir::redis
