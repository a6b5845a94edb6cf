// A check as the shared store keeps it after submit() has returned, when the asker's bytes may be gone; and
// the name of its key in Redis.
//
// Plain values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/siphash.hpp"
#include "redis/script.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::redis {

// PREFIX KEY for a limit without an id, as it always was, and PREFIX limit#ID:KEY for one that has an id. A
// key that itself begins with the mark is written as PREFIX limit#0:KEY, so that no two pairs of an id and a
// key share a name. The mark holds no brace: a {hash tag} of the key chooses the slot as before.
inline std::string key_in_redis(std::string_view prefix, std::uint32_t id, std::string_view key) {
  constexpr std::string_view kMark = "limit#";
  std::string name;
  name.reserve(prefix.size() + key.size() + (id == 0 ? 0 : kMark.size() + 11));
  name += prefix;
  if (id != 0 || key.starts_with(kMark)) {
    name += kMark;
    name += std::to_string(id);
    name += ':';
  }
  name += key;
  return name;
}

// The same in every store of a process, because they share a ProcessMemory; secret. Never 0, which is not a
// key.
inline std::uint64_t hash_of(std::uint32_t id, std::string_view key) {
  static const core::HashKey kSeed = store::Table::random_seed();
  return core::siphash<1, 3>({kSeed.k0, kSeed.k1 ^ id}, key) | 1;
}

struct KeptCheck {
  store::Limit limit;
  std::string name;  // of the key, in Redis
  std::size_t size;  // of the asker's key, with which the name ends
  std::uint64_t hash;
  Cost cost;
  std::uint32_t resets;     // of the key, before the store was asked
  std::uint32_t stamp = 0;  // DenialMemory's, when the store was asked
  Format format = Format::weir;

  std::string_view key() const { return std::string_view(name).substr(name.size() - size); }
  Ask ask() const { return {&limit.rule, name, cost, format}; }
  store::Check check() const { return {.limit = &limit, .key = key(), .cost = cost}; }
};

}  // namespace weir::redis
