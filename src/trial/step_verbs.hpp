// Which verbs are steps of a test of limits, and what stands in such a step: by the rows of the table.
//
// Constants, any thread. Not for: reading a step (read_step.cpp).
#pragma once

#include <string_view>

#include "service/verbs.hpp"

namespace weir::inline v0_1::limits {

// Why a verb is not a step, as a sentence that says what to write; empty: it is one.
constexpr std::string_view why_no_step(const service::VerbRow& verb) {
  if (verb.verb == store::Verb::acquire)
    return "nobody waits while a test's time stands still; reserve decides and charges alike";
  if (verb.tells == service::Tells::explanation) return "a test has explain beside its steps";
  if (verb.tells == service::Tells::holds) return "any step may expect in_flight, which counts them";
  return {};
}

// Null: no verb is called so.
constexpr const service::VerbRow* verb_called(std::string_view name) {
  for (const service::VerbRow& each : service::kVerbs)
    if (each.name() == name) return &each;
  return nullptr;
}

// The members that are words of its step. Those of no step: the limits are the file's, `as` has the
// attributes, a name of a hold stands for its id and beside what it cost, and holds are not listed.
constexpr service::MemberSet words_of(const service::VerbRow& verb) {
  using enum service::BodyMember;
  const service::MemberSet others =
      service::set_of(kAttributes, kKey, kChecks, kRequests, kExplain, kId, kActual, kCount) |
      (service::may_name_limit(verb) ? 0 : service::set_of(kLimit));
  return verb.about == service::About::id ? 0 : verb.takes & ~others;
}

}  // namespace weir::limits
