// The distinct keys of a log, numbered in order of their first appearance.
//
// One thread at a time. A key costs about 15 bytes more than its text: arrays grow piece by piece and are
// never doubled, except the index, 8 bytes a slot.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/siphash.hpp"

namespace weir::inline v0_1::logs {

// An array that grows by pieces of kPiece elements, so that growing copies nothing and wastes little.
template <class T>
class Pieces {
 public:
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return pieces_[i / kPiece][i % kPiece]; }
  const T& operator[](std::size_t i) const { return pieces_[i / kPiece][i % kPiece]; }
  T& add() {
    if (size_ % kPiece == 0) pieces_.push_back(std::make_unique<T[]>(kPiece));
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t kPiece = 4096;
  std::vector<std::unique_ptr<T[]>> pieces_;
  std::size_t size_ = 0;
};

class ClientIndex {
 public:
  ClientIndex() : index_(1 << 12) {}

  // Computed by the reading thread, which has time to spare.
  static std::uint64_t hash(std::string_view key) { return core::siphash<1, 3>(seed(), key); }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&index_[hash & (index_.size() - 1)]); }

  // The key's number; a key without one is given the next.
  std::uint32_t number(std::string_view key, std::uint64_t hash);
  std::string_view name(std::uint32_t number) const { return {keys_[number].bytes, keys_[number].size}; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(keys_.size()); }

 private:
  static const core::HashKey& seed();

  struct Key {
    const char* bytes;
    std::uint32_t size;
  };
  struct Slot {
    std::uint32_t hash;
    std::uint32_t number_plus_1;  // 0: free
  };

  void grow();
  const char* keep(std::string_view key);

  Pieces<Key> keys_;
  std::vector<Slot> index_;
  std::vector<std::unique_ptr<char[]>> arenas_;
  std::size_t arena_left_ = 0;
  char* arena_ = nullptr;
};

}  // namespace weir::logs
