// The keys of a stream that weigh most, in memory that does not grow with the keys: SpaceSaving.
//
// Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
// Data Streams", ICDT 2005, with its stream summary. Up to `most` keys have an entry. A key that has none
// takes the place of one with the least count, counts on from there, and notes that least as its error. So of
// a key with an entry the true weight is at most its count, and at least its count less its error; of a key
// without one it is at most least(); and least() is at most the total divided by `most`.
//
// A weight of 1 takes constant time; a greater one a step for each count in between, of which there are at
// most as many as its weight, and as entries. Nothing is allocated once all entries have been in use.
//
// One thread. Not for: time (top.hpp), and what a key is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::inline v0_1::steering {

class SpaceSaving {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;
    std::string limit;
    std::string key;

   private:
    friend SpaceSaving;
    std::uint32_t bucket_ = 0;
    std::uint32_t before_ = 0;  // in its bucket
    std::uint32_t after_ = 0;
  };

  explicit SpaceSaving(std::size_t most) : most_(most) {}

  // A key is known by its hash alone: one with a secret, of 64 bits. `name` is given the entry of a key that
  // has had none, and fills in its texts.
  template <class NameIt>
  void add(std::uint64_t hash, std::uint64_t weight, const NameIt& name) {
    total_ += weight;
    if (index_.empty()) begin();
    if (const std::uint32_t known = find(hash); known != kNone) return raise(known, weight);
    const std::uint32_t place = used_ < most_ ? add_entry(hash) : take_least(hash);
    name(entries_[place]);
    raise(place, weight);
  }
  // All is forgotten but the memory.
  void clear();

  std::span<const Entry> entries() const { return {entries_.data(), used_}; }
  std::uint64_t total() const { return total_; }
  // What a key without an entry may weigh: 0 while there is room.
  std::uint64_t least() const { return used_ < most_ || used_ == 0 ? 0 : buckets_[first_].count; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // The entries with one count, in a ring. The buckets hang together by rising counts.
  struct Bucket {
    std::uint64_t count = 0;
    std::uint32_t entry = kNone;  // one of them
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
  };

  void begin();
  std::uint32_t find(std::uint64_t hash) const {
    for (std::size_t at = hash & mask_; index_[at] != kNone; at = (at + 1) & mask_) {
      if (entries_[index_[at]].hash == hash) return index_[at];
    }
    return kNone;
  }
  void insert(std::uint32_t entry);
  void erase(std::uint64_t hash);
  std::uint32_t add_entry(std::uint64_t hash);
  std::uint32_t take_least(std::uint64_t hash);
  void raise(std::uint32_t entry, std::uint64_t weight);
  std::uint32_t make_bucket(std::uint64_t count, std::uint32_t before, std::uint32_t after);
  void leave(std::uint32_t entry);
  void join(std::uint32_t entry, std::uint32_t bucket);

  std::size_t most_;
  std::size_t used_ = 0;
  std::uint64_t total_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;  // open addressing, at most half full
  std::size_t mask_ = 0;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;  // of the buckets
  std::uint32_t first_ = kNone;      // the bucket with the least count
};

}  // namespace weir::steering
