// What one limit did to those who met it: how many it allowed and denied, who was locked out the longest, and
// who was denied the most. Those who met it have numbers; its user keeps a standing for each.
//
// One thread. Not for: deciding.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/report.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::sim {

// What is remembered of one who met the limit.
struct Standing {
  std::int64_t first_denied = -1;
  std::int64_t locked_since = -1;  // the first denied request of a row in which nothing was allowed
  std::uint32_t denied = 0;
};

class Tally {
 public:
  void charge(std::uint64_t units) { units_ += units; }
  void allow(Standing& standing) {
    ++allowed_;
    standing.locked_since = -1;
  }
  // `wait`: until it would have been allowed; 0 of a `never`, which has no such moment.
  void deny(Standing& standing, std::uint32_t who, std::int64_t ns, Verdict verdict, std::int64_t wait);

  std::uint64_t allowed() const { return allowed_; }
  std::uint64_t denied() const { return denied_; }
  std::uint64_t clients_denied() const { return clients_denied_; }

  // Of one who met the limit, with all requests of theirs.
  struct Met {
    const Standing* standing;
    std::uint32_t requests;
  };
  // Adds what this knows of `all` who met the limit, of whom the `worst` are listed.
  void add_to(LimitReport& report, std::uint32_t all, std::size_t worst,
              const std::function<Met(std::uint32_t who)>& met,
              const std::function<std::string(std::uint32_t who)>& name) const;

 private:
  std::uint64_t allowed_ = 0;
  std::uint64_t denied_ = 0;
  std::uint64_t never_ = 0;
  unsigned __int128 units_ = 0;
  std::uint64_t clients_denied_ = 0;
  std::int64_t longest_ = 0;  // among equal ones, the first to begin
  std::int64_t longest_since_ = 0;
  std::uint32_t longest_who_ = 0;
};

// Counts one of that many requests: `classes[i]` are those of 2^i to 2^(i+1) - 1.
void count_by_size(std::vector<std::uint64_t>& classes, std::uint32_t requests);

}  // namespace weir::sim
