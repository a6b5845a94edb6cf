// What is told of a question that a store has answered: one reading of the verdicts for every front end.
//
// Pure, any thread. Not for: faults, which a front end tells in its protocol's way, and how numbers are
// written.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
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
  std::string_view id{};      // of what it may settle or cancel; empty: nothing
  std::uint64_t granted = 0;  // of take: the units
};

// The request that a store has answered; null: it met nothing that counts.
inline const store::Request* asked_of(const Question& question) {
  return question.checks.empty() ? nullptr : &question;
}

// Of rules: what the one that decides says, whose key that is.
inline limits::Answer answer_of_rule(const Question& question) {
  const Decision& decision = question.decision();
  return {decision.allowed(),   decision.limit,       decision.remaining,
          decision.retry_after, decision.reset_after, question.checks[question.by].key};
}

// `set` is the one that it was matched by; null: it has rules. It has no fault, and views the question.
inline Told told_of(const Question& question, const limits::Set* set) {
  const store::Request* const asked = asked_of(question);
  // Made with its answer: set to nothing first, it took longer than all else here.
  Told told = question.by_file ? Told{limits::answer_of(*set, question.more->matched, asked)}
                               : Told{answer_of_rule(question)};
  if (!told.allowed) {
    const bool is_listed =
        question.by_file && question.more->matched.outcome == limits::Matched::Outcome::refused;
    told.verdict = is_listed ? Verdict::denied : question.decision().verdict;
  }
  if (question.verb == store::Verb::take) {
    if (told.allowed) told.granted = asked != nullptr ? question.take->granted : question.take->most;
  } else if (asked == nullptr) {
    told.wait =
        told.allowed ? std::chrono::nanoseconds{0} : told.retry_after.value_or(std::chrono::nanoseconds{-1});
  } else if (question.reservation != nullptr) {
    told.wait = question.reservation->wait;
    told.id = question.reservation->id;
  }
  return told;
}

// Of an answer that is one number and no time: how many states had something to forget, or units that went
// back.
inline std::uint64_t count_told(const Question& question) {
  if (question.verb == store::Verb::reset) return question.forgotten;
  return question.reservation != nullptr ? question.reservation->given_back : question.charge->told.charged;
}

// Why; of a question by the limits file that explains. `attributes` are what it was asked about; without them
// what the question keeps.
limits::Explanation explanation_of(const Question& question, std::span<const limits::Attribute> attributes,
                                   const limits::Set& set);
limits::Explanation explanation_of(const Question& question, const limits::Set& set);

}  // namespace weir::service
