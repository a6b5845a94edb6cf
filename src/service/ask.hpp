// What a front end has parsed of one thing that somebody asks, and how it becomes a question for a store: one
// way for every protocol, for the library and for trials of a limits file.
//
// The thread of its caller. Not for: words (the front ends), connections and counting (asker.hpp), and when
// the store is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limits/match.hpp"
#include "limits/one_limit.hpp"
#include "limits/set.hpp"
#include "service/question.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::service {

// Views what it is made of. It asks about one of `as`, `keys` and `id`, or about limits that the request
// brings, which its question has then already (Asker::begin_rules).
struct Ask {
  store::Verb verb = store::Verb::check;
  bool explains = false;                     // why, too
  const limits::Description* as = nullptr;   // by the limits file
  std::span<const std::string_view> keys{};  // of a reset: the states that have no limit's name
  std::string_view id{};                     // of moment, cancel, settle and extend
  // Of a reset and of charge by the file: that limit alone; empty: all. Of holds: whose.
  std::string_view limit{};
  std::size_t most = 100;            // of holds
  const limits::Time* at = nullptr;  // by which the file's dates go; null: now
  // Of a check by the file: where a limit has a hold it is a reserve, which acts now.
  bool holds = false;

  // Of reserve and acquire; nothing: as the limits say, or else 0.
  std::optional<std::chrono::nanoseconds> max_wait{};
  std::optional<std::chrono::nanoseconds> hold{};  // of extend too
  bool bound = false;                              // the hold ends with its connection
  // Of an acquire: by what it waits while others of its connection go on; empty: they do not.
  std::string_view tag{};
  // And its asker goes away after that, whatever else is said.
  std::optional<std::chrono::nanoseconds> patience{};

  // Of settle: what it cost, or what it cost at single limits.
  std::optional<std::uint64_t> actual{};
  std::span<const limits::NamedCost> actuals{};

  // Of take, whose limits it is asked about at a cost of 1.
  struct Units {
    std::uint64_t most = 1;
    std::uint64_t least = 1;
    bool looks = false;
  };
  const Units* units = nullptr;

  // Of charge: what happened, of one window of the limit where that is said.
  Outside::Form form = Outside::Form::cost;
  std::uint64_t remaining = 0;
  Pause pause{};
  std::optional<std::chrono::nanoseconds> window{};
  std::optional<std::chrono::nanoseconds> overdraft{};  // nothing: as its asker's service has it
};

constexpr std::string_view kNoLimitsFile = "there is no limits file: start weir with --limits FILE";

// Why something cannot be asked. A front end says it in its own form, or as the sentence is.
struct Refusal {
  enum class What : std::uint8_t {
    no_limits_file,
    attributes,   // a limit does not take them
    required,     // an attribute that a limit requires is missing
    class_name,   // the file has no such class
    limit,        // the file has no such limit, or it is not clear which is meant
    actual,       // what it cost at single limits
    max_wait,     // more than `most`, the least of the limits that it meets
    no_max_wait,  // an acquire for which nobody says how long it may wait
    hold,         // more than `most`, the shortest ttl of the limits that it meets
    no_hold,      // nothing says how long one lasts that is bound
    key_twice,    // among the limits that it brings
    rule,         // its text cannot be read
    refunds,      // a limit takes none
  };
  What what = What::attributes;
  std::string sentence{};             // without a full stop
  std::chrono::milliseconds came{0};  // of max_wait and hold, as is the next
  std::chrono::nanoseconds most{0};
  std::chrono::nanoseconds most_hold{0};  // of max_wait: the hold is above that too; 0: it is not
};

// By what questions are made.
struct Basis {
  const limits::Set* set = nullptr;  // null: there is no limits file
  limits::Time now{};
  limits::MatchMemory& memory;
  std::chrono::nanoseconds longest_wait{0};  // of an acquire that says none, but has patience
  // The most beyond a burst that may be charged afterwards.
  std::chrono::nanoseconds overdraft = Outside{}.overdraft;
  bool allow_refunds = false;                // of limits that do not say so, too
  const limits::Steered* steered = nullptr;  // of `set`, by operators; null: nothing
  bool tells_changes = false;                // cancels and settlements say what they change
};

// Turns `ask` into a question that is idle, or answered where no store is needed; it was idle, without a
// fault. False: `refusal` says why not.
bool prepare(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal);

}  // namespace weir::service
