// The words of CL.THROTTLE and GCRA, turned into a limit and a cost.
//
// CL.THROTTLE key max_burst count period [quantity]: redis-cell's command, seconds.
// GCRA key max_burst tokens_per_period period [TOKENS n]: the command that Redis' development branch had; the
// period is a decimal number of seconds. In both max_burst is burst - 1; that word ends here.
//
// WEIR.THROTTLE's rules come as text (service/rule_texts.hpp).
//
// One thread. It keeps the limits that it has made, because callers mostly repeat one.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/match.hpp"
#include "store/store.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::resp {

struct Throttle {
  std::string_view key;
  const store::Limit* limit;  // the parser's, until forget(); null: the words were wrong
  Cost cost;
};

class ThrottleParser {
 public:
  using Arguments = std::span<const std::string_view>;

  // The most limits that may be made between two calls of forget().
  static constexpr std::size_t kMostLimits = 64;

  // What the words do not say of a limit.
  explicit ThrottleParser(OnStoreError on_store_error = OnStoreError::local, store::Sharing sharing = {});
  ThrottleParser(const ThrottleParser&) = delete;
  ThrottleParser& operator=(const ThrottleParser&) = delete;

  // When the words are wrong there is no limit, and error() is the text for an error reply.
  Throttle cl_throttle(Arguments words);
  Throttle gcra(Arguments words);
  const std::string& error() const { return error_; }

  // No limit is in use any more.
  void forget();

 private:
  Throttle make(std::string_view key, Rate rate, std::int64_t max_burst, std::int64_t units);
  Throttle fail(std::string text);

  OnStoreError on_store_error_;
  store::Sharing sharing_;
  std::vector<store::Limit> limits_;  // never grows beyond what was reserved: pointers into it are in use
  std::string error_;
};

// The error text for too few words, or too many. `command` may be in any letter case.
std::string wrong_arity(std::string_view command);
// "max_burst: 'x' is not an integer from 0 to 9": the field, what came, what is allowed. What came is cut
// short, so that a megabyte sent is not a megabyte answered.
std::string not_in_range(std::string_view field, std::string_view came, std::int64_t least,
                         std::int64_t most);

// The five integers that both commands answer: limited, limit, remaining, retry_after or -1, reset_after, in
// seconds rounded up. -1 also for `never`: waiting does not help.
std::array<std::int64_t, 5> five_integers(const Decision& decision);
// The same in milliseconds, as WEIR.* answers, whose first says whether all limits allowed.
constexpr std::int64_t ceil_to_ms(std::chrono::nanoseconds time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}
inline std::array<std::int64_t, 5> five_in_ms(const limits::Answer& answer) {
  return {answer.allowed ? 0 : 1, answer.limit, answer.remaining,
          answer.retry_after ? ceil_to_ms(*answer.retry_after) : -1, ceil_to_ms(answer.reset_after)};
}

}  // namespace weir::resp
