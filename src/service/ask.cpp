#include "service/ask.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "limits/costs.hpp"
#include "service/rule_texts.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::service {
namespace {

using std::chrono::nanoseconds;
using store::Verb;
using What = Refusal::What;

bool refuse(Refusal& refusal, What what, std::string sentence) {
  refusal = {what, std::move(sentence)};
  return false;
}

bool refuse_without_file(Refusal& refusal) {
  return refuse(refusal, What::no_limits_file, std::string(kNoLimitsFile));
}

bool reserves(Verb verb) { return verb == Verb::reserve || verb == Verb::acquire; }

// What is met by nothing that counts has its answer.
void take(Question& into, std::span<store::Check> checks) {
  into.checks = checks;
  if (checks.empty()) into.state = store::Request::State::answered;
}

bool about_reservation(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  into.checks = {};
  store::ReservationTerms& about = into.room_for_reservation();
  about.id = ask.id;
  about.hold = ask.hold.value_or(nanoseconds{0});
  about.bound = false;
  about.actual = ask.actual;
  about.overdraft = basis.overdraft;
  about.dropped = 0;  // a question is used again
  about.tells_changes = basis.tells_changes;
  about.changes.clear();
  about.actuals.clear();
  if (ask.actuals.empty()) return true;
  if (basis.set == nullptr) return refuse_without_file(refusal);
  std::string error;
  return limits::find_actuals(*basis.set, ask.actuals, about.actuals, error) ||
         refuse(refusal, What::actual, std::move(error));
}

void reset_keys(const Ask& ask, Question& into) {
  // Each once: a request's keys differ.
  std::vector<std::string_view> once(ask.keys.begin(), ask.keys.end());
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  const std::span<store::Check> checks = into.room(once.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    checks[i].limit = &RuleTexts::nameless();
    checks[i].key = once[i];
  }
}

bool reset_by_file(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  Question::More& more = into.more_of();
  more.checks.clear();
  // Holds are asked by attributes alone: the rows of the verbs say so, and the front ends refuse the rest.
  // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
  if (!limits::find_states(*basis.set, ask.as->attributes, ask.limit, basis.memory, more.matched,
                           more.checks)) {
    const bool unknown = !ask.limit.empty() && basis.set->find(ask.limit) == nullptr;
    return refuse(refusal, unknown ? What::limit : What::attributes, more.matched.error);
  }
  take(into, more.checks);
  return true;
}

// Of the states of its limit those that keep a list of open holds.
bool holds(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  if (basis.set == nullptr) return refuse_without_file(refusal);
  if (!reset_by_file(ask, basis, into, refusal)) return false;
  std::vector<store::Check>& states = into.more->checks;
  std::erase_if(states, [](const store::Check& state) { return !store::lists_holds(*state.limit); });
  if (states.empty())
    return refuse(refusal, What::limit,
                  "limit '" + std::string(ask.limit) +
                      "' has no list of holds: it has neither in_flight nor a hold with a rate of gcra's");
  take(into, states);
  into.reserve(std::nullopt, nanoseconds{0});
  into.reservation->bound = false;
  into.reservation->most = std::min(ask.most, store::OpenHold::kMost);
  return true;
}

What why_unmatched(const limits::Description& asked, const limits::Set& set, const limits::Matched& matched) {
  if (matched.lacks_required) return What::required;
  const auto& classes = set.file().classes;
  const bool known = asked.class_name.empty() ||
                     std::find(classes.begin(), classes.end(), asked.class_name) != classes.end();
  return known ? What::attributes : What::class_name;
}

// What the limits that it meets say of waiting, where the request does not.
bool wait_by_file(const Ask& ask, const limits::Set& set, Question& into, Refusal& refusal) {
  const limits::WaitBounds waiting = limits::wait_bounds(set, into.more->matched);
  const auto in_ms = [](std::optional<nanoseconds> time) {
    return std::chrono::floor<std::chrono::milliseconds>(time.value_or(nanoseconds{0}));
  };
  auto no_hold = waiting.refuses_hold(ask.hold);
  if (auto no_wait = waiting.refuses_wait(ask.max_wait)) {
    refusal = {What::max_wait, *std::move(no_wait), in_ms(ask.max_wait),
               waiting.max_wait.value_or(nanoseconds{0}), no_hold ? waiting.hold : nanoseconds{0}};
    return false;
  }
  if (no_hold) {
    refusal = {What::hold, *std::move(no_hold), in_ms(ask.hold), waiting.hold};
    return false;
  }
  auto max_wait = ask.max_wait ? ask.max_wait : waiting.max_wait;
  if (!max_wait && ask.verb == Verb::acquire && !ask.patience) max_wait = waiting.shadow_wait;
  into.reserve(max_wait, ask.hold.value_or(waiting.hold));
  return true;
}

// Of an acquire: the least of what the request, its limits and its asker's patience say.
bool bound_wait(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  if (ask.patience) {
    nanoseconds& wait = into.reservation->max_wait;
    wait = std::min(into.more->says_wait ? wait : basis.longest_wait, *ask.patience);
    return true;
  }
  // What meets no limit has its answer.
  return into.more->says_wait || into.state == store::Request::State::answered ||
         refuse(refusal, What::no_max_wait, "missing max_wait: how long it may wait");
}

// What meets no limit has its answer, and nothing to hold.
bool bind_hold(const Ask& ask, Question& into, Refusal& refusal) {
  if (into.reservation == nullptr) return true;
  into.reservation->bound = ask.bound && into.state != store::Request::State::answered;
  return !into.reservation->bound || into.reservation->hold.count() > 0 ||
         refuse(refusal, What::no_hold, "BOUND needs a hold: say HOLD, or ask by a limit that has one");
}

bool counts_no_slots(Algorithm algorithm) { return !core::counts_slots(algorithm); }

// By which algorithms the limits are that such a request can meet; null: by all, or it says which limit.
using Meets = bool (*)(Algorithm);
Meets meets_of(const Ask& ask) {
  if (reserves(ask.verb)) return store::can_be_reserved;
  if (ask.verb == Verb::charge) return ask.limit.empty() ? core::can_overdraw : nullptr;
  const bool holds_nothing = (ask.verb == Verb::check && !ask.holds) || ask.verb == Verb::take;
  return holds_nothing ? counts_no_slots : nullptr;
}

// What meets no limit, and what a list denies, has its answer.
void hold_if_any(const limits::Set& set, Question& into) {
  if (into.state == store::Request::State::answered) return;
  limits::Matched& matched = into.more->matched;
  if (limits::wait_bounds(set, matched).hold.count() == 0) return;
  limits::drop_shadows_but(matched, store::can_be_reserved);
  take(into, matched.all());
  const limits::WaitBounds waiting = limits::wait_bounds(set, matched);
  into.verb = Verb::reserve;
  into.reserve(nanoseconds{0}, waiting.hold);
  into.reservation->bound = false;
}

void look(Question& into) {
  into.verb = Verb::look;
  if (into.reservation == nullptr) return;
  into.reservation->wait = nanoseconds{-1};
  into.reservation->id.clear();
}

// A `deny` list or a ban has it.
bool is_refused(const Question& question) {
  return question.by_file && question.more->matched.outcome == limits::Matched::Outcome::refused;
}

// Each check costs what one unit costs.
void take_units(const Ask::Units& asked, Question& into) {
  // What is refused has checks only to be explained, and is charged nothing.
  const bool looks = asked.looks || (is_refused(into) && into.explains);
  into.set_take({.most = asked.most, .least = asked.least, .looks = looks});
  for (std::size_t i = 0; i < into.checks.size(); ++i) into.take->unit[i] = into.checks[i].cost.units;
}

limits::OneLimit::Of of_windows(const Ask& ask) {
  if (ask.form == Outside::Form::pause)
    return ask.pause.afresh ? limits::OneLimit::Of::all_that_start_afresh
                            : limits::OneLimit::Of::all_that_pause;
  return ask.form == Outside::Form::remaining ? limits::OneLimit::Of::one : limits::OneLimit::Of::all;
}

// A caller may undo a limit by refunds, and by a pause that is afresh, so the limit or the server has to
// allow refunds.
bool may_undo(const Ask& ask, const Basis& basis, const Question& into, Refusal& refusal) {
  const bool starts_afresh = ask.form == Outside::Form::pause && ask.pause.afresh;
  if (basis.allow_refunds || (ask.form != Outside::Form::refund && !starts_afresh)) return true;
  const std::string what = starts_afresh ? "no pause afresh" : "no refunds";
  if (ask.as == nullptr) {
    const std::string rule = core::to_text(into.checks[0].limit->rule);
    return refuse(refusal, What::refunds,
                  "limit '" + rule + "' takes " + what + ": start weir with --allow-refunds");
  }
  limits::Matched& matched = into.more->matched;
  for (std::size_t i = 0; i < matched.count; ++i) {
    const limits::NamedLimit& limit = *basis.set->limits()[matched.limit_of[i]].said;
    if (limit.refunds || store::is_guarantee(matched.all(), i)) continue;
    return refuse(refusal, What::refunds,
                  "limit '" + limit.name + "' takes " + what + ": it has to say refunds: true");
  }
  return true;
}

// Of keys with their rules, as the file's are dropped: what happened outside takes no slot.
void pass_slots_by(Question& into) {
  const auto rest = std::remove_if(into.checks.begin(), into.checks.end(), [](const store::Check& each) {
    return !counts_no_slots(each.limit->rule.algorithm);
  });
  if (rest != into.checks.begin())
    into.checks = into.checks.first(static_cast<std::size_t>(rest - into.checks.begin()));
}

bool charge(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  if (ask.as == nullptr) pass_slots_by(into);
  const bool of_one = ask.form == Outside::Form::remaining || ask.form == Outside::Form::pause;
  if (ask.as == nullptr && of_one && into.checks.size() != 1)
    return refuse(refusal, What::limit, "what remains, and a pause, are told of one key");
  if (!may_undo(ask, basis, into, refusal)) return false;
  into.set_charge({.outside = {ask.form, ask.remaining, ask.overdraft.value_or(basis.overdraft)}});
  into.charge->outside.length = ask.pause.length;
  into.charge->outside.afresh = ask.pause.afresh;
  return true;
}

bool keep_one(const Ask& ask, const limits::Set& set, Question& into, Refusal& refusal) {
  auto why = limits::keep_one(set, {ask.limit, ask.window, of_windows(ask)}, into.more->matched);
  if (why) return refuse(refusal, What::limit, *std::move(why));
  take(into, into.more->matched.all());
  return true;
}

bool by_file(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  if (basis.set == nullptr) return refuse_without_file(refusal);
  if (ask.verb == Verb::reset) return reset_by_file(ask, basis, into, refusal);
  Question::More& more = into.more_of();
  limits::Trace* const trace = ask.explains ? &more.explained_of().trace : nullptr;
  if (!limits::match(*basis.set, *ask.as, ask.at != nullptr ? *ask.at : basis.now, basis.memory, more.matched,
                     trace, basis.steered))
    return refuse(refusal, why_unmatched(*ask.as, *basis.set, more.matched), more.matched.error);
  if (const Meets meets = meets_of(ask); meets != nullptr && trace == nullptr)
    limits::drop_shadows_but(more.matched, meets);
  take(into, more.matched.all());
  if (ask.verb == Verb::charge) return keep_one(ask, *basis.set, into, refusal);
  if (reserves(ask.verb) && !wait_by_file(ask, *basis.set, into, refusal)) return false;
  if (ask.holds) hold_if_any(*basis.set, into);
  // With a trace it has its checks all the same, but is charged nothing.
  if (ask.explains && is_refused(into) && ask.verb != Verb::take) look(into);
  return true;
}

}  // namespace

bool prepare(const Ask& ask, const Basis& basis, Question& into, Refusal& refusal) {
  into.verb = ask.verb;
  into.reservation = nullptr;
  into.by_file = ask.as != nullptr;
  into.explains = ask.explains;
  switch (ask.verb) {
    case Verb::check:
    case Verb::look:
      return ask.as == nullptr || by_file(ask, basis, into, refusal);
    case Verb::reset:
      into.forgotten = 0;
      if (ask.as != nullptr) return by_file(ask, basis, into, refusal);
      reset_keys(ask, into);
      return true;
    case Verb::charge:
      return (ask.as == nullptr || by_file(ask, basis, into, refusal)) && charge(ask, basis, into, refusal);
    case Verb::take:
      if (ask.as != nullptr && !by_file(ask, basis, into, refusal)) return false;
      take_units(*ask.units, into);
      return true;
    case Verb::holds:
      return holds(ask, basis, into, refusal);
    case Verb::moment:
    case Verb::cancel:
    case Verb::settle:
    case Verb::extend:
      return about_reservation(ask, basis, into, refusal);
    case Verb::reserve:
    case Verb::acquire:
      break;
  }
  if (ask.as == nullptr) {
    into.reserve(ask.max_wait, ask.hold.value_or(nanoseconds{0}));
  } else if (!by_file(ask, basis, into, refusal)) {
    return false;
  }
  return bind_hold(ask, into, refusal) &&
         (ask.verb != Verb::acquire || bound_wait(ask, basis, into, refusal));
}

}  // namespace weir::service
