// The limit of a KeyedLimiter, whose quota may be changed while it is in use.
//
// Any thread may call anything at any time. As long as nothing was changed, the first limit serves every
// check without a copy. Not for: quotas of one call; what becomes of the debts (core/gcra.hpp).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "store/spin.hpp"
#include "store/store.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

class DefaultLimit {
 public:
  explicit DefaultLimit(Limit first) : first_(std::move(first)) {}

  const Limit& first() const noexcept { return first_; }

  void change(const Quota& quota) noexcept {
    const auto words = std::bit_cast<QuotaWords>(quota);
    Spin spin;
    std::uint64_t before = changes_.load(std::memory_order_relaxed);
    while (before % 2 != 0 ||
           !changes_.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel)) {
      spin.wait();
      before = changes_.load(std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
    changes_.store(before + 2, std::memory_order_release);
  }

  bool is_changed() const noexcept { return changes_.load(std::memory_order_acquire) != 0; }
  // What it was last changed to, else that of first(). A reader that sees a word of a change sees, too, that
  // the change has begun.
  Quota quota() const noexcept {
    if (!is_changed()) return first_.rule.quota;
    Spin spin;
    for (;; spin.wait()) {
      const std::uint64_t before = changes_.load(std::memory_order_acquire);
      QuotaWords words;
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 == 0 && changes_.load(std::memory_order_relaxed) == before)
        return std::bit_cast<Quota>(words);
    }
  }

 private:
  using QuotaWords = std::array<std::uint64_t, sizeof(Quota) / sizeof(std::uint64_t)>;
  static_assert(std::is_trivially_copyable_v<Quota> && sizeof(QuotaWords) == sizeof(Quota));

  const Limit first_;
  std::atomic<std::uint64_t> changes_{0};  // begun and ended; odd while one is made
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<QuotaWords>> words_{};
};

}  // namespace weir::store
