// The words of CL.THROTTLE and GCRA, turned into a quota and a cost.
//
// CL.THROTTLE key max_burst count period [quantity]: redis-cell's command, seconds.
// GCRA key max_burst tokens_per_period period [TOKENS n]: the command that Redis' development branch had; the
// period is a decimal number of seconds. In both max_burst is burst - 1; that word ends here.
//
// Pure but for a one-entry memory of the last quota, so one object per connection or thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::server {

struct Throttle {
  std::string_view key;
  const Quota* quota;  // the parser's, until its next call; null: the words were wrong
  Cost cost;
};

class ThrottleParser {
 public:
  using Arguments = std::span<const std::string_view>;

  // When the words are wrong there is no quota, and error() is the text for an error reply.
  Throttle cl_throttle(Arguments words);
  Throttle gcra(Arguments words);
  const std::string& error() const { return error_; }

 private:
  Throttle request(std::string_view key, Rate rate, std::int64_t max_burst, std::int64_t units);
  Throttle fail(std::string text);

  std::optional<Quota> last_;
  std::string error_;
};

// The five integers that both commands answer: limited, limit, remaining, retry_after or -1, reset_after, in
// seconds rounded up. -1 also for `never`: waiting does not help.
std::array<std::int64_t, 5> five_integers(const Decision& decision);

}  // namespace weir::server
