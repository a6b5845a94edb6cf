// What each question is told: by what the verb does, what the algorithm can, and what has happened to the
// place where the states are. Made of the pages' words, without a look at how a store decides.
#pragma once

#include <cstdint>
#include <ostream>

#include "core/overdraft.hpp"
#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "store/verb_traits.hpp"
#include "verbs/questions.hpp"

namespace weir::inline v0_1::verbs {

enum class Answer : std::uint8_t {
  yes,      // it may happen, is kept, is given back, is there
  no,       // it may not; there is nothing of it
  lost,     // a report for which there is no room, and that says so
  refused,  // nobody can ask that of such a limit
  away,     // the one that could say it does not answer
};
inline std::ostream& operator<<(std::ostream& out, Answer answer) {
  constexpr const char* kNames[] = {"yes", "no", "lost", "refused", "away"};
  return out << kNames[static_cast<std::size_t>(answer)];
}

// What happens between what has happened before and the question.
enum class State : std::uint8_t {
  undisturbed,
  full_table,     // in this process, which counts or would while the store is away
  snapshot,       // another process goes on from what this one has saved
  takeover,       // or from what this one has handed over
  shadow,         // the limit only looks on, beside another that has room
  store_away,     // the shared store does not answer
  away_and_full,  // and the table of this process is full
};
constexpr const char* name_of(State state) {
  switch (state) {
    case State::undisturbed:
      return "undisturbed";
    case State::full_table:
      return "full_table";
    case State::snapshot:
      return "snapshot";
    case State::takeover:
      return "takeover";
    case State::shadow:
      return "shadow";
    case State::store_away:
      return "store_away";
    case State::away_and_full:
      return "away_and_full";
  }
  return nullptr;
}

// What a place can do of itself.
struct Can {
  bool shared = false;  // others have its states too
  bool counts_logs = false;
};

// What is owed under a key, and what of it is a hold's.
struct Past {
  int units = 0;       // that nobody holds
  bool held = false;   // one that acts already
  bool ahead = false;  // one whose moment comes
  int most = kMost;

  int used() const { return units + (held ? 1 : 0); }
  bool has_id() const { return held || ahead; }
};

inline bool can_be_reserved(Algorithm algorithm) {
  return core::can_reserve(algorithm) || core::counts_at_grant(algorithm) || core::counts_slots(algorithm);
}

inline Past past_of(const Case& asked) {
  const bool holds = can_be_reserved(asked.algorithm);
  switch (asked.before) {
    case Before::nothing:
      return {};
    case Before::used:
      return {.units = 1};
    case Before::spent:
      return {.units = kMost};
    case Before::held:
      return {.units = holds ? 0 : 1, .held = holds};
    case Before::ahead:
      return {.units = kMost, .ahead = core::can_reserve(asked.algorithm)};
    case Before::returned:
      return {.units = core::can_overdraw(asked.algorithm) ? 0 : 1};
  }
  return {};
}

inline bool counts(Algorithm algorithm, const Can& can) {
  return can.counts_logs || algorithm != Algorithm::sliding_window_log;
}

// Whether the verb can be asked of such a limit at all.
inline bool suits(const Case& asked, const Can& can) {
  const Algorithm algorithm = asked.algorithm;
  const Verb verb = asked.way.verb;
  const bool slots = core::counts_slots(algorithm);
  if (is_by_id(verb) || verb == Verb::reset) return true;
  if (verb == Verb::holds) return slots || core::can_reserve(algorithm);
  if (!counts(algorithm, can)) return false;
  if (verb == Verb::look) return true;
  if (verb == Verb::check && !asked.way.gate) return !slots;
  if (verb == Verb::take) return !slots;
  if (verb == Verb::charge)
    return asked.way.form != Form::pause ? core::can_overdraw(algorithm)
                                         : core::can_pause(algorithm, asked.way.afresh);
  if (asked.way.gate) return true;
  return can_be_reserved(algorithm);
}

constexpr Answer yes_if(bool yes) { return yes ? Answer::yes : Answer::no; }

// Where nothing has gone wrong.
inline Answer undisturbed(const Case& asked, const Past& past, const Can& can) {
  if (!suits(asked, can)) return Answer::refused;
  const Way& way = asked.way;
  const bool room = past.used() < past.most;
  switch (way.does) {
    case Does::decides:
      // A later moment is found where moments are.
      return yes_if(room || (way.max_wait > 0s && core::can_reserve(asked.algorithm)));
    case Does::looks:
      if (way.verb == Verb::holds)
        return yes_if(core::counts_slots(asked.algorithm) ? past.used() > 0 : past.has_id());
      return yes_if(way.verb == Verb::moment ? past.has_id() : room);
    case Does::reports:
      return yes_if(way.form != Form::remaining || room);
    case Does::gives_back:
      if (way.verb == Verb::cancel) return yes_if(past.ahead);
      if (way.verb == Verb::settle) return yes_if(past.held);
      if (way.asks()) return Answer::yes;
      // By gcra what somebody holds is not taken back.
      return yes_if(past.used() > 0 && !(past.held && core::can_reserve(asked.algorithm)));
    case Does::extends:
      return yes_if(past.has_id());
    case Does::forgets:
      return yes_if(
          counts(asked.algorithm, can) &&
          (past.used() > 0 || (asked.before == Before::returned && !core::can_reserve(asked.algorithm))));
  }
  return Answer::refused;
}
inline Answer undisturbed(const Case& asked, const Can& can) {
  return undisturbed(asked, past_of(asked), can);
}

// A table without room for another key. Slots do not lie there.
inline Answer in_full_table(const Case& asked, const Past& past, const Can& can) {
  const Answer otherwise = undisturbed(asked, past, can);
  // What drains is as if never used once it has come back; a window goes on to its end.
  const bool is_new =
      asked.before == Before::nothing ||
      (asked.before == Before::returned && past.used() == 0 && core::can_reserve(asked.algorithm));
  if (!is_new || core::counts_slots(asked.algorithm) || otherwise != Answer::yes) return otherwise;
  switch (asked.way.does) {
    case Does::decides:
    case Does::looks:
      return yes_if(asked.when_full == WhenFull::allow);
    case Does::reports:
      return Answer::lost;
    case Does::gives_back:
    case Does::extends:
    case Does::forgets:
      break;
  }
  return otherwise;
}

// A shared store that does not answer.
inline Answer while_away(const Case& asked, const Can& can, bool full) {
  const Way& way = asked.way;
  if (!suits(asked, can)) return Answer::refused;
  if (is_by_id(way.verb)) return past_of(asked).has_id() ? Answer::away : Answer::no;
  if (way.verb == Verb::reset || way.verb == Verb::holds) return Answer::away;
  const bool counts_here = asked.on_store_error == OnStoreError::local;
  const bool reports = way.does == Does::reports || way.does == Does::gives_back;
  // Nobody would keep it.
  if (!counts_here) return reports ? Answer::away : yes_if(asked.on_store_error == OnStoreError::allow);
  // By gcra whatever the limit's algorithm; what the store has told is owed here, held or not, and
  // whatever has been given back since; of slots only those that this process gives.
  Case here = asked;
  constexpr int kOwed[] = {0, 1, kMost, 1, kMost, 1};
  const bool ahead = asked.before == Before::ahead && core::can_reserve(asked.algorithm);
  Past past{.units = kOwed[static_cast<std::size_t>(asked.before)] + (ahead ? 1 : 0)};
  if (core::counts_slots(asked.algorithm)) {
    past = {};
  } else {
    here.algorithm = Algorithm::gcra;
  }
  return full ? in_full_table(here, past, can) : undisturbed(here, past, can);
}

// A place that cannot count a limit takes no file that has it. Beside a limit in shadow: holds are asked of
// one limit, by its name; and those who leave others free are limits of Envoy's, which tell themselves what
// they would have denied.
inline bool exists(const Case& asked, State state, const Can& can) {
  if (state != State::shadow) return true;
  return counts(asked.algorithm, can) && asked.way.verb != Verb::holds && !asked.way.others_free;
}

// Beside a limit in shadow, what another is charged by its holds is held there too, and no refund takes it
// back.
inline bool is_held_beside(const Case& asked) {
  if (core::counts_slots(asked.algorithm)) return asked.before != Before::nothing;
  return asked.before == Before::held && can_be_reserved(asked.algorithm);
}
inline bool refunds(const Way& way) { return way.does == Does::gives_back && way.verb == Verb::charge; }

// Beside another limit, gcra's, that has room for all and no hold: as if that were alone. Only what is held
// is there by the hold of the one in shadow.
inline Answer in_shadow(const Case& asked, const Can& can) {
  const bool holds =
      can_be_reserved(asked.algorithm) && (asked.before == Before::held || asked.before == Before::ahead);
  if (is_by_id(asked.way.verb)) {
    // What the one in shadow would have denied is not charged there, so no limit that was has a hold: an
    // error.
    if (holds && asked.way.verb == Verb::settle && asked.before == Before::ahead) return Answer::refused;
    return yes_if(holds && asked.way.verb != Verb::cancel);
  }
  const bool held = is_held_beside(asked);
  if (held && refunds(asked.way) && !asked.way.asks()) return Answer::no;
  Case alone = asked;
  alone.algorithm = Algorithm::gcra;
  constexpr int kUsed[] = {0, 1, kMost, 1, kMost + 1, 0};
  const int used =
      held && asked.before == Before::returned ? 1 : kUsed[static_cast<std::size_t>(asked.before)];
  return undisturbed(alone, {.units = used, .most = kRoom}, can);
}

inline Answer expected(const Case& asked, State state, const Can& can) {
  switch (state) {
    case State::undisturbed:
    case State::snapshot:
    case State::takeover:
      return undisturbed(asked, can);
    case State::full_table:
      return can.shared ? undisturbed(asked, can) : in_full_table(asked, past_of(asked), can);
    case State::shadow:
      return in_shadow(asked, can);
    case State::store_away:
      return while_away(asked, can, false);
    case State::away_and_full:
      return while_away(asked, can, true);
  }
  return Answer::refused;
}

}  // namespace weir::verbs
