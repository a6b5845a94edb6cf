// Decides what the shared store does not: the limit says whether the embedded store of this process counts it
// (OnStoreError::local), or the answer is always yes, or always no.
//
// The embedded store counts by GCRA whatever the limit's algorithm, and a share of its numbers: each machine
// then counts alone. Any thread that may use the embedded store; it must outlive this.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "store/embedded_store.hpp"
#include "store/store.hpp"
#include "weir/decision.hpp"

namespace weir::redis {

class Fallback {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `share`, above 0 and at most 1, is the part of each limit that this process may admit.
  Fallback(store::EmbeddedStore& embedded, double share) : embedded_(embedded), share_(share) {}

  // The hash of a check that needed no counting: nothing to give back.
  static constexpr std::uint64_t kUncounted = 1;

  // What needs no counting; nothing when it is to be counted.
  static std::optional<Decision> uncounted(const store::Limit& limit, Cost cost);
  // Counts all or none; fills each check's decision and hash. Returns whether all are allowed.
  bool count(std::span<store::Check> checks, nanoseconds now);
  // What count() charged at `charged_at`: the checks with a hash of its.
  void give_back(std::span<const store::Check> charged, nanoseconds charged_at, nanoseconds now);

 private:
  store::Limit scaled(const store::Limit& limit) const;

  store::EmbeddedStore& embedded_;
  double share_;
};

}  // namespace weir::redis
