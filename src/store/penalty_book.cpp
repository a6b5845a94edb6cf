#include "store/penalty_book.hpp"

#include <algorithm>

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

// The key's own place, or one that it may have; null when there is none.
PenaltyBook::Entry* PenaltyBook::find(std::uint64_t key, nanoseconds now) {
  if (places_ < kPlaces) return nullptr;
  // From calloc: a page takes memory once something is kept there.
  if (!entries_) entries_.reset(static_cast<Entry*>(std::calloc(places_, sizeof(Entry))));
  if (!entries_) return nullptr;
  const std::uint64_t spread = key * 0x9E3779B97F4A7C15U;
  const auto first =
      static_cast<std::size_t>(static_cast<unsigned __int128>(spread) * (places_ - kPlaces + 1) >> 64U);
  Entry* free = nullptr;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    Entry& entry = entries_[first + i];
    if (entry.forgotten != 0 && entry.key == key) return &entry;
    if (free == nullptr && entry.forgotten <= now.count()) free = &entry;
  }
  return free;
}

nanoseconds PenaltyBook::breach(std::uint64_t key, const core::PenaltyTerms& penalty, nanoseconds now) {
  if (!penalty.grows()) return penalty.time;
  const Held lock(mutex_);
  Entry* const entry = find(key, now);
  if (entry == nullptr) {
    not_kept_.fetch_add(1, std::memory_order_relaxed);
    return penalty.rest(0);
  }
  const bool known = entry->forgotten != 0 && entry->key == key;
  const std::uint64_t breaches = known ? penalty.breaches(nanoseconds{entry->forgotten}, now) : 0;
  if (entry->forgotten == 0) kept_.fetch_add(1, std::memory_order_relaxed);
  *entry = {key, penalty.forgotten(breaches, now).count()};
  return penalty.rest(breaches);
}

void PenaltyBook::forget(std::uint64_t key) {
  const Held lock(mutex_);
  if (!entries_) return;
  Entry* const entry = find(key, nanoseconds{0});
  if (entry == nullptr || entry->forgotten == 0) return;
  *entry = {};
  kept_.fetch_sub(1, std::memory_order_relaxed);
}

void PenaltyBook::copy(nanoseconds now, const std::function<void(std::uint64_t, nanoseconds)>& each) {
  constexpr std::size_t kAtOnce = 4096;
  for (std::size_t from = 0; from < places_; from += kAtOnce) {
    const Held lock(mutex_);
    if (!entries_) return;
    for (std::size_t i = from; i < std::min(from + kAtOnce, places_); ++i)
      if (entries_[i].forgotten > now.count()) each(entries_[i].key, nanoseconds{entries_[i].forgotten});
  }
}

void PenaltyBook::keep(std::uint64_t key, nanoseconds forgotten, nanoseconds now) {
  if (forgotten <= now) return;
  const Held lock(mutex_);
  Entry* const entry = find(key, now);
  if (entry == nullptr) return;
  if (entry->forgotten == 0) kept_.fetch_add(1, std::memory_order_relaxed);
  *entry = {key, forgotten.count()};
}

}  // namespace weir::store
