#include "service/key_rules.hpp"

namespace weir::inline v0_1::service {

// Of the numbers that people write. The odd factors spread them over the bits that are kept.
std::uint32_t KeyRules::mark_of(const core::Rule& rule) {
  const Rate rate = rule.quota.rate();
  std::uint64_t mix = static_cast<std::uint64_t>(rate.count) * 0x9E3779B97F4A7C15U;
  mix = (mix ^ mix >> 29U ^ static_cast<std::uint64_t>(rate.period.count())) * 0xBF58476D1CE4E5B9U;
  mix = (mix ^ mix >> 32U ^ static_cast<std::uint64_t>(rule.quota.burst())) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>(mix >> 32U) | 1U;
}

// A rule that changes for good is told of by nobody: its key has no other in turn.
void KeyRules::changed(std::uint32_t last, const core::Rule& rule, std::chrono::nanoseconds now) {
  const std::uint64_t changes = changes_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (now < due_.load(std::memory_order_relaxed)) return;
  std::string which;
  std::uint64_t times = 0;
  {
    const detail::Held lock(mutex_);
    if (texts_.size() >= kMostTexts) texts_.clear();
    const std::string& text = texts_.emplace(mark_of(rule), core::to_text(rule)).first->second;
    const auto before = texts_.find(last);
    if (before == texts_.end() || now < due_.load(std::memory_order_relaxed)) return;
    due_.store(now + kTellEvery, std::memory_order_relaxed);
    which = before->second + " and " + text;
    times = changes - told_;
    told_ = changes;
  }
  tell(which, times);
}

}  // namespace weir::service
