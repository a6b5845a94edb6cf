// Why a request is decided as it is: which route it takes, which limits it meets, whose numbers they have,
// and what each came to. `weir explain`, WEIR.EXPLAIN and a failed `weir test` say the same.
//
// Pure, any thread; the result owns its texts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/penalty.hpp"
#include "core/utc_text.hpp"
#include "limits/attribute.hpp"
#include "limits/file.hpp"
#include "limits/trace.hpp"
#include "store/store.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::limits {

// An override that was set at run time.
struct ExplainedSteering {
  std::uint64_t number = 0;
  std::string reason;
  std::string user;
  Time until{};
};

// One window of one limit; or a limit that counts nothing here, whose `window` is empty.
struct ExplainedCheck {
  TraceStep::What what = TraceStep::What::counted;
  std::string limit;
  std::string window;  // its period, "1s"; "guarantee" for what a guarantee counts
  // As counted: "tenant=acme user=42"; of an address its network. Empty: one counter for everybody.
  std::string key;
  std::string rate;        // in force: "10/s burst 20"; "unlimited" of a lifted window
  std::uint32_t line = 0;  // where the limit has the window, or the limit
  // Of the override whose rate it has, or else its cost, leave or reserve; 0: all are the limit's own.
  std::uint32_t override_line = 0;
  std::string reason;  // of that override
  // What operators have set decides the row.
  std::optional<ExplainedSteering> steered;
  // "rate", "cost", "leave", "reserve", "penalty": each that an override says, with the line of that one.
  std::vector<std::pair<std::string_view, std::uint32_t>> overridden;
  std::string missing;           // of a skipped limit: the attribute that the request lacks
  core::PenaltyTerms penalty{};  // in force: how long the key rests once it has denied; none: it does not
  bool refunds = false;          // the limit says that it takes them
  bool shadow = false;
  std::uint64_t cost = 0;
  std::optional<Decision> decision;  // of a counted one, once a store has answered
};

struct Explanation {
  std::uint32_t route_line = 0;  // 0: no route matched, or the file has none
  std::string class_of;          // empty: the file has no classes
  std::vector<ExplainedCheck> checks;
  int by = -1;  // which of `checks` decides; below 0: none, the request is allowed
};

// `checks` are the request's, one for each counted step of the trace, with the decisions of `request` when it
// was answered; without it, nobody has been asked yet.
Explanation explain(const File& file, const Trace& trace, std::span<const Attribute> attributes,
                    std::span<const store::Check> checks, const store::Request* answered = nullptr);

// "allowed", "denied" (of a ban too), "never"; of a shadow check that does not allow "would_deny"; of what a
// guarantee counts "inside" or "borrows"; "skipped", "exempt", "unlimited"; and "counted" while nobody has
// decided.
std::string verdict_of(const ExplainedCheck& check);

// What is told of a check wherever members have names, to a writer that knows how they look there: text, line
// (0: none), number (below 0: none), thousandths, time, flag; an empty text says nothing.
template <class To>
void describe(const ExplainedCheck& check, To to) {
  to.text("name", check.limit);
  to.line("line", check.line);
  to.text("window", check.window);
  to.text("key", check.key);
  to.text("rate", check.rate);
  to.line("override_line", check.override_line);
  to.text("reason", check.reason);
  to.text("missing", check.missing);
  to.time("penalty", check.penalty.time);
  if (check.penalty.grows()) {
    to.thousandths("penalty_growing", check.penalty.growing);
    to.time("penalty_most", check.penalty.most);
  }
  if (check.penalty.afresh) to.text("penalty_then", "afresh");
  to.flag("refunds", check.refunds);
  to.flag("shadow", check.shadow);
  to.text("verdict", verdict_of(check));
  if (check.steered) {
    to.number("override", static_cast<std::int64_t>(check.steered->number));
    to.text("override_reason", check.steered->reason);
    to.text("override_user", check.steered->user);
    to.text("override_until", core::utc_ms_text(check.steered->until.time_since_epoch().count()));
  }
  if (!check.decision) return;
  to.number("cost", static_cast<std::int64_t>(check.cost));
  to.number("limit", check.decision->limit);
  to.number("remaining", check.decision->remaining);
  to.time("retry_after", check.decision->retry_after);
  to.time("reset_after", check.decision->reset_after);
}

// What a limit counts a request by: "tenant=acme user=42", of an address its network. It has all attributes.
std::string key_text(const NamedLimit& limit, std::span<const Attribute> attributes);

// For people: several lines.
std::string to_text(const Explanation& explanation, const std::string& file);

}  // namespace weir::limits
