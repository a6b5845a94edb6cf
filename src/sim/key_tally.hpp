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
#include "weir/decision.hpp"

namespace weir::inline v0_1::sim {

class KeyTally {
 public:
  // One request of a key: what the limit made of it, and the units that were charged, if any were.
  struct Request {
    std::string_view key;  // tells keys apart
    std::int64_t ns;
    Verdict verdict;
    std::int64_t retry_after_ns;  // of a denied one
    bool charged;
    std::uint64_t units;
  };
  // `name`: the key as reports show it, called for a key that is new. Returns the key's number.
  template <class Name>
  std::uint64_t add(const Request& request, Name name) {
    const auto [at, fresh] = index_.try_emplace(std::string(request.key), standings_.size());
    if (fresh) standings_.push_back({name(), 0, 0, -1, -1});
    count(request, standings_[at->second]);
    return at->second;
  }
  void decided() { ++decided_; }
  void would_deny() { ++would_deny_; }

  std::uint64_t keys() const { return standings_.size(); }
  const std::string& name(std::uint64_t key) const { return standings_[key].name; }
  std::uint64_t requests() const { return allowed_ + denied_ + would_deny_; }
  // Without what is counted over time.
  LimitReport report(std::size_t worst) const;
  // [i]: keys of 2^i to 2^(i+1) - 1 requests.
  std::vector<std::uint64_t> by_size() const;

 private:
  struct Standing {
    std::string name;
    std::uint32_t requests;
    std::uint32_t denied;
    std::int64_t first_denied;
    std::int64_t locked_since;  // the first denied request of a row in which nothing was allowed
  };
  void count(const Request& request, Standing& standing);

  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Standing> standings_;
  std::uint64_t allowed_ = 0;
  std::uint64_t denied_ = 0;
  std::uint64_t never_ = 0;
  std::uint64_t decided_ = 0;
  std::uint64_t would_deny_ = 0;
  std::uint64_t keys_denied_ = 0;
  unsigned __int128 units_ = 0;
  std::int64_t longest_ = 0;
  std::int64_t longest_since_ = 0;
  std::size_t longest_key_ = 0;  // its place in standings_
  Peaks peaks_{1};
};

}  // namespace weir::sim
