// A limits file tried out: requests at moments that the caller chooses, counted by a store of its own, by the
// code that a server decides with. For tests, explanations and replays.
//
// One thread. It views the set. Not for: serving; it matches each request with a trace when asked, and has no
// clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limits/explain.hpp"
#include "limits/match.hpp"
#include "limits/set.hpp"
#include "limits/trace.hpp"
#include "service/ask.hpp"
#include "service/question.hpp"
#include "service/told.hpp"
#include "store/embedded_store.hpp"
#include "trial/store_with_logs.hpp"

namespace weir::inline v0_1::limits {

// The file, ready to be tried. Throws std::runtime_error when two identities are alike, which practically
// never happens.
std::shared_ptr<const Set> compiled(std::shared_ptr<const File> file);

class Trial {
 public:
  using Told = service::Told;

  // For states. The least has room for kFew requests, whatever they meet. The most lies in huge pages, which
  // take long to fill: 100 tests took 10 ms longer than one with it, and 2.4 with the least.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  static constexpr std::size_t kLeastBytes = store::Table::kLeastBytes;
  static constexpr std::size_t kFew = store::Table::kSlotsPerSegment / 3 / store::kMostChecks;
  explicit Trial(const Set& set, std::size_t bytes = kMostBytes);

  // The request that ask() then asks. False when it is an error. Its texts are viewed.
  bool find(const Description& asked, Time now);
  const std::string& error() const { return refusal_.sentence; }
  // Times do not go back. Throws std::runtime_error when a limit cannot be counted here.
  service::Told ask(Time now, store::Verb verb = store::Verb::check);

  // Asks that. Of it `as` is the request that was found, unless it resets. False, with an error(), when it
  // cannot be asked, or decided.
  bool ask(Time now, const service::Ask& what);
  const service::Question& answered() const { return question_; }
  service::Told told() const { return service::told_of(question_, &set_); }
  // Charges the request that was found, and says when to act; nothing, with an error(), when that cannot be.
  std::optional<service::Told> reserve(Time now, std::optional<std::chrono::nanoseconds> max_wait,
                                       std::optional<std::chrono::nanoseconds> hold);
  // Of the request that was found, if it meets slots: how long it may hold them.
  std::optional<std::chrono::nanoseconds> longest_hold() const;
  // Open holds that have a slot of a limit, by store::Limit::id.
  std::unordered_map<std::uint64_t, std::uint64_t> in_flight(Time now);

  const Trace& trace() const { return question_.more->explained_of().trace; }
  const Matched& matched() const { return question_.more->matched; }
  // Of the last answer: a decision for each counted step.
  std::span<const store::Check> checks() const { return question_.checks; }

  // What explains an answer later, when others have been given: keep it.
  struct KeptAnswer {
    std::vector<Decision> decisions;
    std::uint8_t by = 0;
  };
  KeptAnswer keep();
  Explanation explanation(const KeptAnswer& kept);

 private:
  bool prepare(const service::Ask& ask, Time now);
  void submit(Time now);

  const Set& set_;
  store::EmbeddedStore table_;
  StoreWithLogs store_{table_};
  Description asked_{};
  MatchMemory memory_;
  service::Question question_;
  service::Refusal refusal_;
};

}  // namespace weir::limits
