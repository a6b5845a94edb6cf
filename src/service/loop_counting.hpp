// What one event loop counts of its questions beside metrics: by key.
//
// The thread of its loop, in which all that ask there count (Asker::count_in). Not for: metrics
// (decision_counts.hpp), and answering (counting.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "limits/set.hpp"
#include "service/counting.hpp"
#include "service/question.hpp"
#include "service/service.hpp"
#include "steering/event.hpp"
#include "steering/top.hpp"
#include "steering/unit_sample.hpp"
#include "steering/usage_buffer.hpp"

namespace weir::inline v0_1::service {

class LoopCounting {
 public:
  // A limit that a request brings along is called that.
  static constexpr std::string_view kInline = "inline";

  // `has_hashes`: each check that a store has answered has its hash, the same for the same limit and key.
  explicit LoopCounting(Service& service, bool has_hashes = false);
  ~LoopCounting();
  LoopCounting(const LoopCounting&) = delete;
  LoopCounting& operator=(const LoopCounting&) = delete;

  // One of the units that are charged, for each that asks in the loop.
  steering::UnitSample sample() const;

  // Of a question that has its answer, and charges something; its one check's units are in the sample, if it
  // is allowed and has one. `set` as told_of() has it.
  void count(const Question& question, const limits::Set* set, bool allowed, steering::UnitSample& sample,
             std::chrono::nanoseconds now);
  // Whether nothing by key comes of a question by the limits file that is allowed, but for what tracks and
  // events want: none of its units is in the sample. Most are so.
  static bool passes_over(const Question& question, steering::UnitSample& sample);
  // Of any question by rules that it brought and that has its answer.
  void see_rules(const Question& question, std::chrono::nanoseconds now) {
    for (const store::Check& check : question.checks) {
      const core::Rule& rule = check.limit->rule;
      const std::uint64_t hash =
          has_hashes_ ? check.hash : all_.hash_of(static_cast<std::uint64_t>(rule.algorithm), check.key);
      service_.key_rules.see(hash, rule, now, ++seen_ % kReplaceEvery == 0);
    }
  }
  // Of one that cancels, settles, charges or gives back: it has changed what was used.
  void count_change(const store::Request& request, const limits::Set& set, const limits::Matched* matched);
  // What was counted so far.
  void forget();

 private:
  struct LimitGroup;

  template <class Each>
  static void for_each_limit(const limits::Matched& matched, std::span<const store::Check> checks,
                             const Each& each);
  void count_inline(steering::TopKeys& top, const Question& question, bool allowed,
                    steering::UnitSample& sample, std::chrono::nanoseconds now);
  void count_file(const Question& question, const limits::Set& set, bool allowed,
                  steering::UnitSample& sample, std::chrono::nanoseconds now);
  void count_top(steering::TopKeys& top, const Question& question, const limits::Set& set,
                 const LimitGroup& group, bool allowed, steering::UnitSample& sample,
                 std::chrono::nanoseconds now);
  // By a ban or a `deny` list.
  void count_refused(steering::TopKeys& top, const limits::Matched& matched, const limits::Set& set,
                     std::chrono::nanoseconds now);
  void use(const limits::Set::CompiledLimit& limit, std::string_view key, steering::UsagePlace place,
           std::int64_t units);
  steering::UsagePlace place_of(const store::Check& check) const;
  void add_if_due();

  void tell_events(const Question& question, const limits::Set& set, bool allowed);
  void tell_event(const Question& question, const limits::Set& set, std::size_t check,
                  steering::OperatorEvent::What what);

  Service& service_;
  Counting& all_;
  const bool has_hashes_;
  static constexpr std::uint32_t kReplaceEvery = 8;
  std::uint32_t seen_ = 0;
  steering::UsageBuffer usage_;
  std::optional<steering::TopKeys> top_;
};

}  // namespace weir::service
