// The verbs by which clients ask questions: one row each, for every protocol.
//
// RESP's commands and what COMMAND DOCS says of them, HTTP's paths, what their bodies may have, their
// answers, their OpenAPI and who may ask are made of these rows, and the steps of `weir test`. Constants, any
// thread. Not for: commands about the server or a connection (resp/commands.cpp), HTTP's other paths
// (http/handlers.cpp), and what a verb does (store/store.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "steering/actor.hpp"
#include "store/store.hpp"
#include "weir/charge.hpp"

namespace weir::inline v0_1::service {

// What may be said with a verb: a member of a body in JSON, an option of a command, a word of a step.
namespace members {
enum BodyMember : std::uint8_t {
  kAttributes,
  kKey,
  kLimit,
  kChecks,
  kRequests,
  kCost,
  kAtLeast,
  kClass,
  kExplain,
  kMaxWait,
  kHold,
  kId,
  kActual,
  kRemaining,
  kWindow,
  kPause,
  kAfresh,
  kCount,
  kMembers
};
}  // namespace members
using members::BodyMember;
using members::kMembers;
inline constexpr std::array<std::string_view, kMembers> kMemberNames{
    "attributes", "key",  "limit", "checks", "requests",  "cost",   "at_least", "class",  "explain",
    "max_wait",   "hold", "id",    "actual", "remaining", "window", "pause",    "afresh", "count"};
// kMembers: none is called so.
constexpr BodyMember member_called(std::string_view name) {
  return static_cast<BodyMember>(std::find(kMemberNames.begin(), kMemberNames.end(), name) -
                                 kMemberNames.begin());
}

// A hold that is longer would keep a key's memory for longer than anything that costs is likely to last.
inline constexpr std::chrono::nanoseconds kLongestHold = std::chrono::hours{24};
// The most of a member that is a time.
constexpr std::chrono::nanoseconds longest_of(BodyMember member) {
  if (member == members::kHold) return kLongestHold;
  return member == members::kPause ? Pause::kLongest : std::chrono::nanoseconds::max();
}

// Several of them.
using MemberSet = std::uint32_t;
template <class... Each>
constexpr MemberSet set_of(Each... members) {
  return (MemberSet{0} | ... | (MemberSet{1} << static_cast<BodyMember>(members)));
}
static_assert(kMembers <= 32);

// What a question is about.
enum class About : std::uint8_t {
  rules,  // keys with rules of their own, or what the limits file says of attributes
  state,  // what was charged to a key, or to attributes
  limit,  // one limit of the file, and attributes
  id,     // a reservation
};

// What its answer says.
enum class Tells : std::uint8_t {
  decision,
  explanation,  // a decision, and why
  reservation,  // a decision, a moment and an id
  charged,      // what is owed now
  holds,        // a list
  forgotten,    // the rest are one number: how many states had something to forget
  given_back,   // units
  hold,         // a time, 0 when there is none
  wait,         // a time, -1 when there is none
};

// What that number is called; empty: it says more.
constexpr std::string_view number_of(Tells tells) {
  switch (tells) {
    case Tells::forgotten:
      return "reset";
    case Tells::given_back:
      return "given_back";
    case Tells::hold:
      return "hold";
    case Tells::wait:
      return "wait";
    case Tells::decision:
    case Tells::explanation:
    case Tells::reservation:
    case Tells::charged:
    case Tells::holds:
      break;
  }
  return {};
}

constexpr bool is_decision(Tells tells) { return tells <= Tells::reservation; }
constexpr bool is_time(Tells tells) { return tells == Tells::hold || tells == Tells::wait; }

struct VerbRow {
  std::string_view command;  // RESP's
  std::string_view path;     // HTTP's
  store::Verb verb;
  steering::Role role;  // who may, at least
  About about;
  MemberSet takes;
  Tells tells;
  std::string_view body;  // what OpenAPI calls a body that takes that
  std::string_view form;  // what follows the command
  std::string_view says;  // what it does, in one line
  std::string_view answers;
  bool charges = false;  // it is counted, and a denial is an error of HTTP's
  bool audited = false;  // it is written down before it runs

  // What a step of a test calls it.
  constexpr std::string_view name() const { return path.substr(path.rfind('/') + 1); }
  constexpr bool refunds() const { return verb == store::Verb::charge && tells == Tells::given_back; }
};

// The table, and what its rows are put together from.
namespace table_of_verbs {

using enum BodyMember;

inline constexpr MemberSet kRules = set_of(kAttributes, kKey, kLimit, kChecks, kCost);
inline constexpr MemberSet kDecision = kRules | set_of(kClass, kExplain);
inline constexpr MemberSet kCheck = kDecision | set_of(kAtLeast);
inline constexpr MemberSet kReserve = kDecision | set_of(kMaxWait, kHold);

inline constexpr std::array kVerbs{
    VerbRow{"WEIR.CHECK", "/v1/check", store::Verb::check, steering::Role::decide, About::rules,
            kCheck | set_of(kRequests), Tells::decision, "Check",
            "[COST n [ATLEAST m]] [CLASS name] [FIELDS] attribute=value ...",
            "decides a request by its limits, all or none", "Allowed; or the results of a batch",
            /*charges*/ true},
    VerbRow{"WEIR.LOOK", "/v1/look", store::Verb::look, steering::Role::decide, About::rules, kCheck,
            Tells::decision, "Check", "[COST n [ATLEAST m]] [CLASS name] [FIELDS] attribute=value ...",
            "what a check would be answered now; nothing is charged", "The verdict"},
    VerbRow{"WEIR.EXPLAIN", "/v1/explain", store::Verb::look, steering::Role::operate, About::rules, kCheck,
            Tells::explanation, "Check", "[COST n [ATLEAST m]] [CLASS name] [NOW time] attribute=value ...",
            "what a check would be answered now, and why: each limit that it meets",
            "The verdict of each limit"},
    VerbRow{"WEIR.RESET", "/v1/reset", store::Verb::reset, steering::Role::operate, About::state,
            set_of(kAttributes, kKey, kLimit), Tells::forgotten, "Reset",
            "key, or AS [LIMIT name] attribute=value ...", "forgets what was charged",
            "How many states had something to forget", false, /*audited*/ true},
    VerbRow{"WEIR.RESERVE", "/v1/reserve", store::Verb::reserve, steering::Role::decide, About::rules,
            kReserve, Tells::reservation, "Reserve",
            "[COST n] [MAXWAIT ms] [CLASS c] [HOLD ms] [BOUND] [FIELDS] [KEYS] key rule [key rule ...], "
            "or ... AS attribute=value ...",
            "says when a request may act, and charges it as of then", "Granted: act after `wait`", true},
    VerbRow{"WEIR.ACQUIRE", "/v1/acquire", store::Verb::acquire, steering::Role::decide, About::rules,
            kReserve, Tells::reservation, "Reserve",
            "MAXWAIT ms [COST n] [CLASS c] [HOLD ms] [BOUND] [FIELDS] [TAG word] [KEYS] key rule "
            "[key rule ...], or ... AS attribute=value ...",
            "answers when a request may act, and charges it then; a client that disconnects leaves the line",
            "Its moment has come: act", true},
    VerbRow{"WEIR.MOMENT", "/v1/moment", store::Verb::moment, steering::Role::decide, About::id, set_of(kId),
            Tells::wait, "Cancel", "id",
            "whether a reservation may still act, and when: one over whose moment a pause lies is cancelled",
            "How long until its moment, 0 from then on until its hold ends, without a hold for a minute; -1 "
            "for an unknown id, and where a pause lies over its moment"},
    VerbRow{"WEIR.CANCEL", "/v1/cancel", store::Verb::cancel, steering::Role::decide, About::id, set_of(kId),
            Tells::given_back, "Cancel", "id", "takes a reservation back before its moment",
            "The units that went back; 0 when its moment has come, and for an unknown id"},
    VerbRow{"WEIR.SETTLE", "/v1/settle", store::Verb::settle, steering::Role::decide, About::id,
            set_of(kId, kActual), Tells::wait, "Settle", "id [actual | limit=units,...]",
            "charges a reservation what it turned out to cost",
            "How long until one more unit would be admitted; -1 for an unknown id"},
    VerbRow{"WEIR.EXTEND", "/v1/extend", store::Verb::extend, steering::Role::decide, About::id,
            set_of(kId, kHold), Tells::hold, "Extend", "id ms",
            "gives an open hold, and its slots, another end",
            "How long it has now; 0 when no such hold is open"},
    VerbRow{"WEIR.HOLDS", "/v1/holds", store::Verb::holds, steering::Role::operate, About::limit,
            set_of(kAttributes, kLimit, kCount), Tells::holds, "HoldsOf",
            "[COUNT n] LIMIT name AS attribute=value ...",
            "which holds of a key of a limit are open, the oldest first; to settle one frees its slot",
            "The holds; seconds from now"},
    VerbRow{"WEIR.CHARGE", "/v1/charge", store::Verb::charge, steering::Role::decide, About::rules,
            kRules | set_of(kRemaining, kWindow, kPause, kAfresh), Tells::charged, "Charge",
            "[COST n | REMAINING n | PAUSE ms [AFRESH]] [LIMIT name] [WINDOW period] [KEYS] key rule [key "
            "rule ...], "
            "or ... AS attribute=value ...",
            "records what happened outside, whether there was room or not",
            "What that came to, at the limit with the longest wait"},
    VerbRow{"WEIR.REFUND", "/v1/refund", store::Verb::charge, steering::Role::decide, About::rules, kRules,
            Tells::given_back, "Refund",
            "[COST n] [KEYS] key rule [key rule ...], or ... AS attribute=value ...",
            "gives back the last units that were charged, which were not used",
            "Units that were given back, at the limit that gave least"},
};

}  // namespace table_of_verbs
using table_of_verbs::kVerbs;

// The row of a command; there is one.
consteval const VerbRow& verb(std::string_view command) {
  return *std::find_if(kVerbs.begin(), kVerbs.end(),
                       [command](const VerbRow& each) { return each.command == command; });
}

constexpr bool takes(const VerbRow& row, BodyMember member) { return (row.takes & set_of(member)) != 0; }
// What the limits file says of attributes may be asked of one limit of theirs alone.
constexpr bool may_name_limit(const VerbRow& row) {
  return row.about != About::rules || row.verb == store::Verb::charge;
}

}  // namespace weir::service
