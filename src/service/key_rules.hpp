// Whether one key is asked about by two rules in turn, where requests bring their rules: the key then keeps
// one debt under two limits, and neither is what was meant. An operator is told once a minute which two,
// never of which key.
//
// It remembers the last rule of some thousand keys, those that are asked about often among them; more than
// one key in a place is a key that is not looked at. Any thread. Not for: limits of the file, whose keys have
// the limit's name.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/rule.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class KeyRules {
 public:
  static constexpr std::chrono::minutes kTellEvery{1};

  // A question has come about the key of that hash. `may_replace`: a new key may take the place of another,
  // which few may: else a flood of keys is a flood of writes.
  void see(std::uint64_t hash, const core::Rule& rule, std::chrono::nanoseconds now, bool may_replace) {
    std::atomic<std::uint64_t>& place = last_[hash % kPlaces];
    const std::uint64_t its = (hash & kKeyBits) | mark_of(rule);
    const std::uint64_t last = place.load(std::memory_order_relaxed);
    if (last == its) [[likely]]
      return;
    const bool is_same_key = ((last ^ its) & kKeyBits) == 0;
    if (last != 0 && !is_same_key && !may_replace) return;
    place.store(its, std::memory_order_relaxed);
    if (last != 0 && is_same_key) changed(static_cast<std::uint32_t>(last), rule, now);
  }

  // Times that a key's rule was another than before.
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

  // "10/min and 100/min"; how often keys have changed between any two since the last such line.
  std::function<void(const std::string& which, std::uint64_t times)> tell = [](const auto&, auto) {};

 private:
  static constexpr std::size_t kPlaces = 8192;
  static constexpr std::uint64_t kKeyBits = ~std::uint64_t{0} << 32U;
  static constexpr std::size_t kMostTexts = 64;

  // Rules that differ in it are different; two that do not may be.
  static std::uint32_t mark_of(const core::Rule& rule);
  void changed(std::uint32_t last, const core::Rule& rule, std::chrono::nanoseconds now);

  std::array<std::atomic<std::uint64_t>, kPlaces> last_{};  // half a key's hash, and the mark of its rule
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::chrono::nanoseconds> due_{std::chrono::nanoseconds::min()};
  detail::Mutex mutex_;
  std::map<std::uint32_t, std::string> texts_ WEIR_GUARDED_BY(mutex_);  // of rules that keys changed to
  std::uint64_t told_ WEIR_GUARDED_BY(mutex_) = 0;                      // of the changes
};

}  // namespace weir::service
