// From what a request says of itself to the checks that it has to pass: the route, the limits that it meets,
// their numbers for it, its keys.
//
// Any thread, with memory of its own. That and `into` may be used again, so that matching allocates nothing
// once both have grown. Not for: counting; a store answers the checks.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/attribute.hpp"
#include "limits/costs.hpp"
#include "limits/long_values.hpp"
#include "limits/set.hpp"
#include "limits/steered.hpp"
#include "limits/trace.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

// More than a request has; each is compared with the others.
constexpr std::size_t kMostAttributes = 64;

struct Description {
  std::span<const Attribute> attributes;
  std::uint64_t cost = 1;          // 0 looks
  std::string_view class_name{};   // empty: it does not say
  bool costs_an_estimate = false;  // it says no cost: a limit with a hold may charge its estimate
  // At these limits it costs that much, whatever else is said. Each is named once.
  std::span<const NamedCost> costs{};
  bool takes_any_attribute = false;  // `attributes` of the file does not matter: a log has what it has
};

struct Matched {
  enum class Outcome : std::uint8_t {
    meets,    // its checks say
    free,     // it meets nothing that could deny it
    refused,  // a `deny` list or a ban has it: `refused_by`
  };

  Matched() = default;
  Matched(const Matched&) = delete;  // its checks view it
  Matched& operator=(const Matched&) = delete;

  std::span<store::Check> all() { return {checks.data(), count}; }
  // Of refused: its key at the limit that refuses it.
  std::string_view refused_key() const { return {keys.data() + refused_at, refused_size}; }

  Outcome outcome = Outcome::free;
  Index route = kNone;                     // File::routes
  Index class_of = kNone;                  // File::classes
  Index refused_by = kNone;                // File::limits
  const SteeredOverride* ban = nullptr;    // of refused, when it is one
  std::chrono::nanoseconds banned_for{0};  // until its end
  std::size_t refused_at = 0;              // where in `keys` that limit has its key
  std::size_t refused_size = 0;
  std::vector<Index> skipped_of;  // File::limits that do not apply, as an attribute is missing
  std::size_t count = 0;
  // Its first `count`; their limits and keys lie here and in the set. As one that waits keeps them, there is
  // room for as many as there have been.
  std::vector<store::Check> checks;
  std::array<Index, store::kMostChecks> limit_of;  // File::limits, of each check
  std::string error;                               // when match() says false: a sentence for people
  bool lacks_required = false;                     // then: why, an attribute that a limit requires

  std::string keys;               // their bytes; it keeps its size, which may be more
  std::vector<store::Limit> own;  // of checks that keep something free; it never moves them
  // The values that are in `keys` by a digest alone, so that people can be told of them.
  LongValues long_values;
};

// What a limit counts by that key: as key_text() of explain.hpp has it.
std::string key_text(const NamedLimit& limit, std::string_view key, const Matched& matched);

// What matching works in, and leaves for the next request. One thread at a time.
class MatchMemory {
 public:
  MatchMemory();
  ~MatchMemory();
  MatchMemory(const MatchMemory&) = delete;
  MatchMemory& operator=(const MatchMemory&) = delete;

  struct Work;
  Work& work() { return *work_; }

 private:
  std::unique_ptr<Work> work_;
};

// False when the request is an error. `now` is the wall clock's, for what has an end. With a trace, what is
// denied by a list has its checks all the same, so that they can be looked at. `steered` is of `set`, and is
// what has to outlive `into`; null: nothing is.
bool match(const Set& set, const Description& asked, Time now, MatchMemory& memory, Matched& into,
           Trace* trace = nullptr, const Steered* steered = nullptr);

// The states of the limit called `name`, or without a name of all that the request meets: to be reset; they
// view `into`. False when there is no such limit, or an attribute of its `by` is missing.
bool find_states(const Set& set, std::span<const Attribute> attributes, std::string_view name,
                 MatchMemory& memory, Matched& into, std::vector<store::Check>& states);

// What the limits that a request meets say of its waiting, where it does not. Those in shadow bound nothing,
// but what they need is there: without a hold nobody could count their slots, and the request would be an
// error.
struct WaitBounds {
  std::optional<std::chrono::nanoseconds> max_wait{};     // the least; also the most that it may ask for
  std::optional<std::chrono::nanoseconds> shadow_wait{};  // the least of those in shadow
  std::chrono::nanoseconds hold{0};                       // the shortest; 0: none has a hold
  bool bounds_hold = false;  // it is also the most that it may ask for; false: it is of one in shadow

  // Why a request cannot ask for as long as that; nothing: it can.
  std::optional<std::string> refuses_wait(std::optional<std::chrono::nanoseconds> asked) const;
  std::optional<std::string> refuses_hold(std::optional<std::chrono::nanoseconds> asked) const;
};
WaitBounds wait_bounds(const Set& set, const Matched& matched);

// What to answer, from the verdicts of the store: spec of WEIR.CHECK's six.
struct Answer {
  bool allowed = true;
  std::int64_t limit = -1;
  std::int64_t remaining = -1;
  std::optional<std::chrono::nanoseconds> retry_after{};
  std::chrono::nanoseconds reset_after{0};
  std::string_view by{};
};
Answer answer_of(const Set& set, const Matched& matched, const store::Request* answered);

}  // namespace weir::limits
