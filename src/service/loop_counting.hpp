// What one event loop counts of its questions beside metrics: by key.
//
// The thread of its loop, in which all that ask there count (Asker::count_in). Not for: metrics
// (decision_counts.hpp), and answering (counting.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "limits/set.hpp"
#include "service/counting.hpp"
#include "service/question.hpp"
#include "steering/top.hpp"
#include "steering/unit_sample.hpp"

namespace weir::inline v0_1::service {

class LoopCounting {
 public:
  // A limit that a request brings along is called that.
  static constexpr std::string_view kInline = "inline";

  // `has_hashes`: each check that a store has answered has its hash, the same for the same limit and key.
  explicit LoopCounting(Counting& all, bool has_hashes = false);
  ~LoopCounting();
  LoopCounting(const LoopCounting&) = delete;
  LoopCounting& operator=(const LoopCounting&) = delete;

  // One of the units that are charged, for each that asks in the loop.
  steering::UnitSample sample() const;

  // Of a question that has its answer, and charges something; its one check's units are in the sample, if it
  // is allowed and has one. `set` as told_of() has it.
  void count(const Question& question, const limits::Set* set, bool allowed, steering::UnitSample& sample,
             std::chrono::nanoseconds now);

 private:
  void count_inline(const Question& question, bool allowed, steering::UnitSample& sample,
                    std::chrono::nanoseconds now);
  void count_file(const Question& question, const limits::Set& set, bool allowed,
                  steering::UnitSample& sample, std::chrono::nanoseconds now);
  std::uint64_t hash_of(std::uint64_t limit, std::string_view key) const;

  Counting& all_;
  const bool has_hashes_;
  std::optional<steering::Top> top_;
};

}  // namespace weir::service
