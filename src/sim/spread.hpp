// Requests of one coarse stamp, spread evenly over the time that it stands for.
//
// One thread at a time. Events come in order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "logs/log_reader.hpp"

namespace weir::inline v0_1::sim {

// The coarsest of 1 s, 100 ms, 10 ms, ... 1 ns that every stamp of a log is a multiple of.
class Resolution {
 public:
  void add(std::int64_t ns) {
    while (ns % ns_ != 0) ns_ /= 10;
  }
  std::int64_t ns() const { return ns_; }

 private:
  std::int64_t ns_ = 1'000'000'000;
};

class Spread {
 public:
  explicit Spread(std::int64_t resolution_ns) : resolution_(resolution_ns) {}

  // Of n requests with one stamp, the one that is k-th from 0 comes k / n of the resolution after it.
  template <class Each>
  void take(const logs::Event& event, Each&& each) {
    if (!same_.empty() && same_.front().ns != event.ns) finish(each);
    same_.push_back(event);
  }
  template <class Each>
  void finish(Each&& each) {
    const auto count = static_cast<std::int64_t>(same_.size());
    for (std::int64_t k = 0; k < count; ++k) {
      logs::Event event = same_[static_cast<std::size_t>(k)];
      event.ns += static_cast<std::int64_t>(static_cast<__int128>(resolution_) * k / count);
      each(event);
    }
    same_.clear();
  }

 private:
  std::int64_t resolution_;
  std::vector<logs::Event> same_;
};

}  // namespace weir::sim
