// The one script that decides inside Redis or Valkey (check.lua): the bytes that ask it, and what its answer
// means.
//
// The script holds the state and the clock, compares and adds; the answer brings the state as it was, and a
// Decision is made of it here, by src/core. So rounding lives in one place, and whether the two agree is
// checked with every answer.
//
// Pure functions, any thread. Not for: connections, or what to do about an error (src/redis' client).
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/rule.hpp"
#include "redis/ledger_view.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::redis {

// One limit of a request.
struct ScriptCheck {
  const core::Rule* rule;
  std::string_view key;
  Cost cost;
  // As store::Check has them; `inside` is the number of an earlier ask of the same call.
  bool shadow = false;
  std::size_t inside = kAlone;
  // With a calendar: what time it is in the store, about. The window that runs then is what is asked for.
  std::chrono::nanoseconds utc{0};

  static constexpr std::size_t kAlone = ~std::size_t{0};

  // What one unit is to the scripts: ns of gcra's.
  std::uint64_t unit() const {
    if (!core::can_reserve(rule->algorithm)) return 1;
    return static_cast<std::uint64_t>(rule->quota.emission_interval().count());
  }
};

// The script's text, for SCRIPT LOAD, and its name, for EVALSHA: 40 hex digits.
std::string_view check_script();
const std::string& check_sha();

// The name of any script.
std::string sha_of(std::string_view text);

// A time since 1970 as the scripts take it in tests, in whole microseconds: "s us".
std::string time_word(std::chrono::nanoseconds now);

// The most units that a script counts: it estimates quotients in doubles and then corrects them by up to
// four, so it stops a little below 2^53.
constexpr std::int64_t kMostUnits = 9'000'000'000'000'000;

// A sentence when a rule has numbers that the script does not count exactly, because a number in Lua has 53
// bits. Such a rule must not be asked for.
std::optional<std::string> unsuitable(const core::Rule& rule);

// Appends the EVALSHA that checks all limits of one request at one moment, and charges all or none. Keys are
// names in Redis; in a cluster they must share a slot. A sliding window log may not be asked for twice.
// `now`, for tests, is the time since 1970 instead of the server's, in whole microseconds.
void append_check(std::string& out, std::span<const ScriptCheck> asks,
                  std::optional<std::chrono::nanoseconds> now = {});

// The four words of one limit, as check.lua has them.
constexpr std::size_t kWordsOfLimit = 4;
void append_limit(resp::Writer& to, const ScriptCheck& ask, bool look = false);

// The same without charging: for read_look().
void append_look(std::string& out, std::span<const ScriptCheck> asks,
                 std::optional<std::chrono::nanoseconds> now = {});

// One limit that is asked for several times at this moment, by requests that have nothing to do with each
// other: `times` is at most kMostTimes, and the rule's algorithm no sliding window log.
constexpr std::size_t kMostTimes = 256;
void append_times(std::string& out, const ScriptCheck& ask, std::size_t times,
                  std::optional<std::chrono::nanoseconds> now = {});

// Gives back what a check by gcra charged when the store's clock was at `charged_at`, as far as it is still
// owed: a unit that has drained since is gone, so that what is admitted for what was given back keeps the
// promise (the proof is that of leases.hpp). Nothing when the T has changed, and while the key is in a
// ledger: those who wait or hold count on what was owed before them. The answer has nothing to read.
void append_give_back(std::string& out, const ScriptCheck& ask, std::chrono::nanoseconds charged_at,
                      std::optional<std::chrono::nanoseconds> now = {});

// Cuts what is owed beyond `full`, and forgets a window or a log that counts for longer than that: after a
// step of the store's clock. The answer has nothing to read.
void append_cap(std::string& out, const ScriptCheck& ask, std::string_view line,
                std::chrono::nanoseconds full, std::optional<std::chrono::nanoseconds> now = {});

// Forgets what is charged to these keys, all of one slot: the answer is how many had something to forget. One
// that holds something else stays as it is and makes the answer an error, WRONGTYPE, once the others are
// forgotten. What is kept beside them under `lines` goes too, uncounted. At most kMostReset keys in one call,
// which take Redis some 3 ms, during which it does nothing else.
constexpr std::size_t kMostReset = 1'000;
void append_reset(std::string& out, std::span<const std::string> keys, std::span<const std::string> lines);

// Fills one decision for each ask and says whether nothing stops the request, that is, whether it was
// charged. The decisions say what each limit would have answered alone after those before it, as store::Table
// does; those of a denied request that allowed, what is there without it. Otherwise the error that Redis
// answered, or a sentence.
tl::expected<bool, std::string> read_check(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                           std::span<Decision> decisions);
// The same decisions, whether the script has charged them or not; and whether all of them allow.
tl::expected<bool, std::string> decide_all(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                           std::span<Decision> decisions, bool look);
// Of decisions that allowed, read from `reply`, when the request is not charged after all: what is there
// without it.
void tell_uncharged(const resp::Value& reply, std::span<const ScriptCheck> asks,
                    std::span<Decision> decisions);
// Of append_look: as core::look() says it, and whether nothing would stop the request.
tl::expected<bool, std::string> read_look(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                          std::span<Decision> decisions);
// What stands before an algorithm's name: check.lua has the meaning.
std::string marks_of(const ScriptCheck& ask, bool look);
// Nothing when the text is not what a script would have let pass, or holds a log.
std::optional<KeyState> read_state(const resp::Value& value, const ScriptCheck& ask,
                                   std::chrono::nanoseconds now);
// The rule that decides the ask of this number, once those before it are decided.
core::Rule rule_of(std::span<const ScriptCheck> asks, std::span<const Decision> decisions, std::size_t which);
// Of append_times: fills `decisions`, as many as there were times, with what the requests would have been
// answered one after the other, and says how many of them are allowed: the first ones.
tl::expected<std::size_t, std::string> read_times(const resp::Value& reply, const ScriptCheck& ask,
                                                  std::span<Decision> decisions);

// Of an answer that no script of weir's has given: Redis' own error, or a sentence.
tl::unexpected<std::string> not_ours(const resp::Value& reply);

// Of an answer that src/core would not give.
tl::unexpected<std::string> disagree(const std::string& how);

// The script was asked for a window of a calendar that does not run there: nothing is charged, and the time
// that decided_at() tells is the one to ask for.
bool asks_again(const resp::Value& reply);

// The word by which the scripts know which window of a rule's calendar runs (windows.lua).
std::string window_word(const core::Rule& rule, std::chrono::nanoseconds utc);

// The store's clock when it decided; nothing when that was not weir's script.
std::optional<std::chrono::nanoseconds> decided_at(const resp::Value& reply);

// The state of the ask of that number, in an answer of check.lua or take.lua.
const resp::Value& state_in(const resp::Value& reply, std::size_t which);
// Of such a state, or of one that reserve.lua tells: it is a window that nobody uses before its end, however
// far that lies ahead.
bool tells_pause(const resp::Value& state);

// Whether a state that the answer tells was written by a former build, of a key that had reservations: what
// it owes counts, and nobody knows of them any more.
bool tells_former_state(const resp::Value& reply);

}  // namespace weir::redis
