// What a request says of itself, kept while it waits: by the time that another limits file is in force, its
// words are gone.
//
// One thread. Not for: what it came to (match.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "limits/match.hpp"

namespace weir::inline v0_1::limits {

class KeptDescription {
 public:
  explicit KeptDescription(const Description& asked);
  std::size_t bytes() const { return bytes_; }

  // As limits::match().
  bool match(const Set& set, Time now, MatchMemory& memory, Matched& into, Trace* trace = nullptr,
             const Steered* steered = nullptr) const;

 private:
  std::vector<std::pair<std::string, std::string>> attributes_;
  std::vector<std::pair<std::string, std::uint64_t>> costs_;
  std::string class_name_;
  std::uint64_t cost_ = 1;
  bool costs_an_estimate_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace weir::limits
