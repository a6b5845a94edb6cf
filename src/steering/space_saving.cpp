#include "steering/space_saving.hpp"

#include <algorithm>
#include <bit>

namespace weir::inline v0_1::steering {

void SpaceSaving::begin() {
  index_.assign(std::bit_ceil(2 * most_), kNone);
  mask_ = index_.size() - 1;
}

void SpaceSaving::clear() {
  std::fill(index_.begin(), index_.end(), kNone);
  buckets_.clear();
  free_.clear();
  first_ = kNone;
  used_ = 0;
  total_ = 0;
}

void SpaceSaving::insert(std::uint32_t entry) {
  std::size_t at = entries_[entry].hash & mask_;
  while (index_[at] != kNone) at = (at + 1) & mask_;
  index_[at] = entry;
}

// Those that follow move up, so that no gap ends the search for them.
void SpaceSaving::erase(std::uint64_t hash) {
  std::size_t gap = hash & mask_;
  while (entries_[index_[gap]].hash != hash) gap = (gap + 1) & mask_;
  for (std::size_t at = (gap + 1) & mask_; index_[at] != kNone; at = (at + 1) & mask_) {
    const std::size_t home = entries_[index_[at]].hash & mask_;
    if (((at - home) & mask_) < ((at - gap) & mask_)) continue;
    index_[gap] = index_[at];
    gap = at;
  }
  index_[gap] = kNone;
}

std::uint32_t SpaceSaving::add_entry(std::uint64_t hash) {
  if (used_ == entries_.size()) entries_.emplace_back();
  const auto entry = static_cast<std::uint32_t>(used_++);
  entries_[entry].hash = hash;
  entries_[entry].count = entries_[entry].error = 0;
  entries_[entry].bucket_ = kNone;
  insert(entry);
  return entry;
}

std::uint32_t SpaceSaving::take_least(std::uint64_t hash) {
  const std::uint32_t entry = buckets_[first_].entry;
  erase(entries_[entry].hash);
  entries_[entry].hash = hash;
  entries_[entry].error = entries_[entry].count;
  insert(entry);
  return entry;
}

void SpaceSaving::raise(std::uint32_t entry, std::uint64_t weight) {
  if (weight == 0 && entries_[entry].bucket_ != kNone) return;
  const std::uint64_t count = entries_[entry].count += weight;
  // Its bucket, or the last one before its place.
  std::uint32_t before = entries_[entry].bucket_;
  std::uint32_t after = before == kNone ? first_ : buckets_[before].after;
  while (after != kNone && buckets_[after].count < count) {
    before = after;
    after = buckets_[after].after;
  }
  const bool is_there = after != kNone && buckets_[after].count == count;
  const std::uint32_t to = is_there ? after : make_bucket(count, before, after);
  if (entries_[entry].bucket_ != kNone) leave(entry);
  join(entry, to);
}

std::uint32_t SpaceSaving::make_bucket(std::uint64_t count, std::uint32_t before, std::uint32_t after) {
  std::uint32_t made = 0;
  if (free_.empty()) {
    made = static_cast<std::uint32_t>(buckets_.size());
    buckets_.emplace_back();
  } else {
    made = free_.back();
    free_.pop_back();
  }
  buckets_[made] = {count, kNone, before, after};
  (before == kNone ? first_ : buckets_[before].after) = made;
  if (after != kNone) buckets_[after].before = made;
  return made;
}

void SpaceSaving::leave(std::uint32_t entry) {
  Entry& its = entries_[entry];
  Bucket& bucket = buckets_[its.bucket_];
  if (its.after_ != entry) {
    entries_[its.before_].after_ = its.after_;
    entries_[its.after_].before_ = its.before_;
    bucket.entry = its.after_;
    return;
  }
  (bucket.before == kNone ? first_ : buckets_[bucket.before].after) = bucket.after;
  if (bucket.after != kNone) buckets_[bucket.after].before = bucket.before;
  free_.push_back(its.bucket_);
}

void SpaceSaving::join(std::uint32_t entry, std::uint32_t bucket) {
  Entry& its = entries_[entry];
  its.bucket_ = bucket;
  std::uint32_t& first = buckets_[bucket].entry;
  if (first == kNone) {
    first = its.before_ = its.after_ = entry;
    return;
  }
  its.after_ = first;
  its.before_ = entries_[first].before_;
  entries_[its.before_].after_ = entry;
  entries_[first].before_ = entry;
}

}  // namespace weir::steering
