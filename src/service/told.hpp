// What is told of a question that a store has answered: one reading of the verdicts for every front end.
//
// Pure, any thread. Not for: faults, which a front end tells in its protocol's way, and how numbers are
// written.
#pragma once

#include <chrono>
#include <string_view>

#include "limits/explain.hpp"
#include "limits/match.hpp"
#include "limits/set.hpp"
#include "service/question.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::service {

// `by`: the limit that decides, or of rules the key; empty where no limit applies.
struct Told : limits::Answer {
  // `never` is for a cost that is too large; a list denies for as long as it has the request.
  Verdict verdict = Verdict::allowed;
  // Of reserve and acquire: until the moment to act, or how long it would have to wait; below 0: no time
  // helps.
  std::chrono::nanoseconds wait{0};
  std::string_view id{};  // of what it may settle or cancel; empty: nothing
};

// `set` is the one that it was matched by; null: it has rules. It has no fault, and views the question.
Told told_of(const Question& question, const limits::Set* set);

// Why; of a question by the limits file that explains.
limits::Explanation explanation_of(const Question& question, const limits::Set& set);

// The request that a store has answered; null: it met nothing that counts.
inline const store::Request* asked_of(const Question& question) {
  return question.checks.empty() ? nullptr : &question;
}

}  // namespace weir::service
