// A check as the shared store keeps it after submit() has returned, when the asker's bytes may be gone; and
// the name of its key in Redis.
//
// Plain values and pure functions, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/siphash.hpp"
#include "redis/script.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::redis {

// A limit without a name, which came with a request: PREFIX KEY, as it always was. One with a name:
//
//   PREFIX{TAG}limit#LENGTH:NAME KEY      (without the space), LENGTH that of the name in bytes
//
// TAG is 16 hex digits, a hash of what Check::colocate says or else of the key: what shares that shares a
// slot of a cluster, and no byte of a key chooses one. A key of a limit without a name that looks like such a
// name, or begins with the mark, is written as PREFIX limit#0:KEY. So no two pairs of a name and a key share
// a form.
inline std::string key_in_redis(std::string_view prefix, const store::Check& check) {
  constexpr std::string_view kMark = "limit#";
  constexpr std::size_t kTagDigits = 16;
  const std::string_view name = check.limit->name;
  const std::string_view key = check.key;
  const auto is_tagged = [&] {
    return key.starts_with('{') && key.size() > kTagDigits + 2 &&
           key.substr(kTagDigits + 1).starts_with("}limit#");
  };
  std::string text;
  text.reserve(prefix.size() + key.size() + (name.empty() ? 0 : name.size() + 32));
  text += prefix;
  if (!name.empty()) {
    // Without a secret, as all processes name a key alike.
    std::uint64_t tag = core::siphash<2, 4>({0, 0}, check.colocate.empty() ? key : check.colocate);
    text += '{';
    for (std::size_t i = 0; i < kTagDigits; ++i, tag <<= 4) text += "0123456789abcdef"[tag >> 60];
    text += '}';
    text += kMark;
    text += std::to_string(name.size());
    text += ':';
    text += name;
  } else if (key.starts_with(kMark) || is_tagged()) {
    text += "limit#0:";
  }
  text += key;
  return text;
}

struct KeptCheck {
  store::Limit limit;
  std::string name;  // of the key, in Redis
  std::size_t size;  // of the asker's key, with which the name ends
  std::uint64_t hash;
  Cost cost;
  std::uint32_t resets;     // of the key, before the store was asked
  std::uint32_t stamp = 0;  // DenialMemory's, when the store was asked
  bool shadow = false;
  std::uint8_t inside = store::Check::kNoGuarantee;  // of its request's checks
  std::chrono::nanoseconds utc{0};  // when it was kept, by the clock of its calendar, if it has one

  std::string_view key() const { return std::string_view(name).substr(name.size() - size); }
  bool is_same_key(const KeptCheck& other) const { return other.hash == hash && other.name == name; }
  // Alone: it says nothing of other checks.
  ScriptCheck ask() const { return {&limit.rule, name, cost}; }
  // As one of its request's, all of which are asked for in one call.
  ScriptCheck ask_beside_others() const {
    ScriptCheck one = ask();
    one.shadow = shadow;
    if (inside != store::Check::kNoGuarantee) one.inside = inside;
    return one;
  }
  store::Check check() const { return {.limit = &limit, .key = key(), .cost = cost, .shadow = shadow}; }
  // As if it were inside its guarantee, if it may be.
  core::Rule at_best() const {
    core::Rule rule = limit.rule;
    if (inside != store::Check::kNoGuarantee) rule.kept = std::chrono::nanoseconds{0};
    return rule;
  }
};

}  // namespace weir::redis
