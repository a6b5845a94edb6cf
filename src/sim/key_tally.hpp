// What one limit did to each of its keys.
//
// One thread. Not for: deciding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/replay.hpp"
#include "sim/report.hpp"
#include "sim/tally.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::sim {

class KeyTally {
 public:
  // One request of a key: what the limit made of it, and the units that were charged, if any were.
  struct DecidedRequest {
    std::string_view key;  // tells keys apart
    std::int64_t ns;
    Verdict verdict;
    std::int64_t retry_after_ns;  // of a denied one
    bool charged;
    std::uint64_t units;
  };
  // `name`: the key as reports show it, called for a key that is new. Returns the key's number.
  template <class Name>
  std::uint64_t add(const DecidedRequest& request, Name name) {
    const auto next = static_cast<std::uint32_t>(keys_.size());
    const auto [at, fresh] = index_.try_emplace(std::string(request.key), next);
    if (fresh) keys_.push_back({name(), 0, {}});
    count(request, at->second);
    return at->second;
  }
  void decided() { ++decided_; }
  void would_deny() { ++would_deny_; }

  std::uint64_t keys() const { return keys_.size(); }
  const std::string& name(std::uint64_t key) const { return keys_[key].name; }
  // Without what is counted over time.
  LimitReport report(std::size_t worst) const;
  // [i]: keys of 2^i to 2^(i+1) - 1 requests.
  std::vector<std::uint64_t> by_size() const;

 private:
  struct Key {
    std::string name;
    std::uint32_t requests;
    Standing standing;
  };
  void count(const DecidedRequest& request, std::uint32_t number);

  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<Key> keys_;
  Tally tally_;
  std::uint64_t decided_ = 0;
  std::uint64_t would_deny_ = 0;
  Peaks peaks_{1};
};

}  // namespace weir::sim
