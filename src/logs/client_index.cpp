#include "logs/client_index.hpp"

#include <cstring>
#include <random>
#include <stdexcept>

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kArena = std::size_t{64} << 10;

}  // namespace

// Secret, because strangers choose the keys in a log, and could choose keys that collide.
const core::HashKey& ClientIndex::seed() {
  static const core::HashKey kKey = [] {
    std::random_device random;
    const auto word = [&random] { return (std::uint64_t{random()} << 32) | random(); };
    return core::HashKey{word(), word()};
  }();
  return kKey;
}

std::uint32_t ClientIndex::number(std::string_view key, std::uint64_t hash) {
  const std::size_t mask = index_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = index_[at];
    if (slot.number_plus_1 == 0) {
      if (keys_.size() >= 0xFFFF'FFFE) throw std::runtime_error("more than 2^32 clients");
      Key& made = keys_.add();
      made = {keep(key), static_cast<std::uint32_t>(key.size())};
      slot = {tag, static_cast<std::uint32_t>(keys_.size())};
      const std::uint32_t number = count() - 1;
      if (keys_.size() * 4 > index_.size() * 3) grow();
      return number;
    }
    if (slot.hash == tag && name(slot.number_plus_1 - 1) == key) return slot.number_plus_1 - 1;
  }
}

void ClientIndex::grow() {
  std::vector<Slot> larger(index_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : index_) {
    if (slot.number_plus_1 == 0) continue;
    std::size_t at = hash(name(slot.number_plus_1 - 1)) & mask;
    while (larger[at].number_plus_1 != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  index_ = std::move(larger);
}

const char* ClientIndex::keep(std::string_view key) {
  if (key.size() > kArena / 8) {
    arenas_.push_back(std::make_unique<char[]>(key.size()));
    std::memcpy(arenas_.back().get(), key.data(), key.size());
    return arenas_.back().get();
  }
  if (key.size() > arena_left_) {
    arenas_.push_back(std::make_unique<char[]>(kArena));
    arena_ = arenas_.back().get();
    arena_left_ = kArena;
  }
  std::memcpy(arena_, key.data(), key.size());
  const char* const kept = arena_;
  arena_ += key.size();
  arena_left_ -= key.size();
  return kept;
}

}  // namespace weir::logs
