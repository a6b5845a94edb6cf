// The requests of one client that are under way, each in the first of numbered places that is free when it
// begins.
//
// Why one assignment decides every limit at once: a request goes to place n only when all before it are
// taken, so the first N places see the same whatever lies beyond them, and are the slots of a limit of N:
// what finds them taken is busy and takes none of them. And as requests come in the order in which they
// began, as many places are used as were ever taken at once.
//
// One thread at a time. Memory grows with the greatest number at once: 16 bytes each, up to twice that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "logs/client_index.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

class FirstFit {
 public:
  // The place, from 0, of a request that is under way from `begin` until before `end`. Begins do not go back.
  std::size_t take(std::int64_t begin, std::int64_t end);
  // When the first of the first `places` is free: of those, all are taken.
  std::int64_t free_at(std::size_t places) const;
  // The greatest number at once, and when it was first reached.
  std::size_t most() const { return most_; }
  std::int64_t most_at() const { return most_at_; }

 private:
  std::size_t room() const { return ends_.size() / 2; }
  void grow();

  // The least end of each span of places: [1] is that of all, [i] of [2i] and [2i+1], and from room() on each
  // place has its own. INT64_MIN: never taken.
  std::vector<std::int64_t> ends_;
  std::uint32_t most_ = 0;
  std::int64_t most_at_ = 0;
};

// Those with the most, the most first; ties in the order in which it was reached, and then of names.
std::vector<AtOnce> greatest_at_once(const logs::Pieces<FirstFit>& clients,
                                     const std::function<std::string(std::uint32_t client)>& name,
                                     std::size_t how_many);

}  // namespace weir::sim
