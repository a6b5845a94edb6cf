// Descriptors by the trees of envoyproxy/ratelimit, and by overrides: each meets one limit at most, and is
// charged alone.
//
// The thread of its loop. Not for: matching (limits/descriptors.hpp), the answer (batch.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limits/descriptors.hpp"
#include "rls/request.hpp"
#include "rls/rls_loop.hpp"
#include "rls/status.hpp"
#include "service/asking.hpp"

namespace weir::inline v0_1::rls {

// What is told of a descriptor that met a limit, beside what the store says. It views the trees.
struct TreeLimit {
  std::uint32_t requests_per_unit = 0;
  limits::RateUnit unit = limits::RateUnit::unknown;
  std::string_view name{};
  std::string unit_text{};  // where the unit is unknown
  limits::Index series = limits::kNone;
  const limits::Metadata* metadata = nullptr;
  std::uint64_t hits = 0;  // 0: it looks
  bool shadow = false;
  bool quota = false;
};

// Matches and asks all descriptors of the loop's request; for each one that met a limit what is told is
// added to `told`. The first questions that were added are to be dropped when something is wrong.
Wrong ask_by_tree(RlsLoop& loop, service::Asking& asking, const limits::Descriptors& trees,
                  const limits::Descriptors::Tree& domain, std::chrono::nanoseconds patience,
                  std::vector<TreeLimit>& told);

// What one of them is told; it has no fault.
StatusOf tree_status_of(const service::Question& question, const TreeLimit& limit,
                        std::chrono::nanoseconds now);

// Of its hits, which were allowed, those beyond that share of the limit.
std::uint64_t near_hits(const TreeLimit& limit, const Status& status, float share);

}  // namespace weir::rls
