// Those that stand in line: whether one joins it, its plan, its turn.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/rule.hpp"
#include "store/slots.hpp"
#include "waiting/acquiring_store.hpp"
#include "waiting/waiting.hpp"

namespace weir::inline v0_1::waiting {

using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

namespace {

// How long the first in line goes by limits that are no longer in force, at the longest.
constexpr std::chrono::seconds kLookAgain{1};
// How often the first in line for a slot asks a store that does not tell of one that is free.
constexpr std::chrono::milliseconds kAskForSlot{50};
// And one that has a plan for an earlier one.
constexpr std::chrono::milliseconds kAskForMoment{100};
// One that may have to ask by other limits, while as many as may are asked about.
constexpr std::chrono::milliseconds kAskWhenFewerDo{10};

// The rates alone could not be in time, whatever becomes of the slots.
bool rates_deny(std::span<const store::Check> checks, nanoseconds max_wait) {
  return std::any_of(checks.begin(), checks.end(), [max_wait](const store::Check& each) {
    const Decision& told = each.decision;
    return !each.shadow && !core::counts_slots(each.limit->rule.algorithm) && !told.allowed() &&
           (!told.retry_after || *told.retry_after > max_wait);
  });
}

}  // namespace

// In line for a slot, uncharged: it stays if its rates alone, as of now, can be in time. Its turn may have
// come while it was asked about.
void AcquiringStore::on_judged(Waiting& waiting, nanoseconds now) {
  Waiting::InnerRequest& asked = waiting.asked();
  asked.verb = Verb::reserve;
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  const bool is_late = now >= waiting.deadline || rates_deny(asked.copies, waiting.deadline - now);
  if (!waiting.is_given_up() && asked.fault == Fault::none && !is_late) {
    waiting.told_at_once = false;
    house_.queues.needs(waiting, asked.planned_at());
    settle_in(waiting);
    if (house_.queues.is_first(waiting)) wait_until(waiting, nanoseconds{0});
    return;
  }
  if (waiting.is_given_up()) return let_go(waiting);
  house_.queues.leave(waiting, false);
  if (asked.fault != Fault::none) return finish(waiting);
  deny_by_longest(waiting);
}

// Denied, and told no moment: whether it waits in line for what has denied it.
bool AcquiringStore::waits_for_room(Waiting& waiting, nanoseconds since) {
  Waiting::InnerRequest& asked = waiting.asked();
  nanoseconds& wait = asked.terms.wait;
  if (asked.verb != Verb::reserve || asked.fault != Fault::none || waiting.max_wait.count() == 0 ||
      wait.count() <= 0)
    return false;
  if (asked.copies[asked.by].decision.verdict == Verdict::busy) return waits_for_slot(waiting, since);
  if (!Queues::was_not_ahead(asked.copies)) return false;
  const store::Check& check = asked.copies[asked.by];
  if (core::counts_at_grant(check.limit->rule.algorithm)) return false;  // nobody waits for a window
  nanoseconds room = wait;
  if (check.inside != store::Check::kNoGuarantee) {
    // Its guarantee may have room earlier than what it borrows from.
    const auto& guaranteed = asked.copies[check.inside].decision.retry_after;
    if (guaranteed) room = std::min(room, *guaranteed);
  }
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  if (room > waiting.deadline - since) {
    // The same request would wait for as long as it may.
    wait = std::max(nanoseconds{1}, wait - waiting.max_wait);
    asked.copies[asked.by].decision.retry_after = wait;
    return false;
  }
  waiting.told_at_once = false;
  waiting.moment = since + room;
  house_.queues.wait_for(waiting, asked.by, waiting.moment);
  settle_in(waiting);
  return true;
}

// Whatever the holds' times say: one may be settled any moment.
bool AcquiringStore::waits_for_slot(Waiting& waiting, nanoseconds since) {
  Waiting::InnerRequest& asked = waiting.asked();
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  if (since >= waiting.deadline || rates_deny(asked.copies, waiting.deadline - since)) return false;
  waiting.told_at_once = false;
  const nanoseconds ask = tells_ ? nanoseconds{kLookAgain} : nanoseconds{kAskForSlot};
  waiting.moment = since + std::min(asked.terms.wait, ask);
  house_.queues.wait_for(waiting, asked.by, waiting.moment);
  house_.queues.needs(waiting, asked.planned_at());
  settle_in(waiting);
  return true;
}

// Of the first of its line, or who becomes it, what it has reserved is its plan. Two loops may have asked at
// once: then it has none.
void AcquiringStore::plan(Waiting& waiting, nanoseconds since) {
  Waiting::InnerRequest& asked = waiting.asked();
  asked.keep();
  asked.since = since;
  waiting.moment = since + asked.terms.wait;
  waiting.is_late = asked.terms.wait > asked.terms.max_wait;
  if (!house_.queues.plan(waiting, asked.by, {waiting.moment, asked.terms.sooner_by, asked.planned_at()})) {
    give_up({.stands_in_line = true, .id = std::exchange(asked.terms.id, {})}, Verb::cancel);
    return waiting.stood ? stay(waiting) : line_up(waiting, since);
  }
  waiting.told_at_once = false;
  if (waiting.moment > last_moment_) return end(waiting);
  settle_in(waiting);
}

// Something of its keys was given back, or may have been. Its place in line is its own meanwhile.
void AcquiringStore::plan_again(Waiting& waiting, nanoseconds now) {
  store::ReservationTerms& reservation = waiting.asked().terms;
  if (waiting.moment > now || reservation.hold.count() == 0) {
    reservation.instead_of = std::exchange(reservation.id, {});
  } else {
    give_up(waiting.asked().at_no_cost(std::exchange(reservation.id, {})), Verb::settle);
  }
  reservation.id.clear();
  reservation.max_wait = waiting.left(now);
  ask(waiting, {now, now});
}

// What could not be asked has left the plan as it was.
void AcquiringStore::end_plan_before(Waiting& waiting) {
  std::string before = std::exchange(waiting.asked().terms.instead_of, {});
  if (before.empty() || waiting.asked().fault == Fault::none) return;
  give_up({.stands_in_line = true, .id = std::move(before)}, Verb::cancel);
}

// Of one in line, its timer: that of its turn, or of its deadline. The first looks for other limits, by which
// its turn may come earlier; in a store that does not tell, for whether something was given back.
void AcquiringStore::settle_in(Waiting& waiting) {
  waiting.stood = true;
  if (!waiting.has_plan()) waiting.forget_asked();
  const Queues& queues = house_.queues;
  const bool is_first = queues.is_first(waiting);
  nanoseconds turn = waiting.has_plan() ? waiting.moment
                     : is_first         ? queues.first_moment(waiting)
                                        : waiting.deadline;
  if (waiting.is_for_slot()) turn = std::min(turn, waiting.deadline);
  if (queues.too_late(waiting).count() > 0 || waiting.asks_again || waiting.ended) turn = nanoseconds{0};
  const nanoseconds soon = clock_() + kLookAgain;
  // Nobody tells that a hold has ended, or has cost all that it was charged.
  if (waiting.has_plan() && waiting.is_late) turn = std::min({turn, waiting.deadline, soon});
  if (!tells_ && waiting.has_plan()) turn = std::min<nanoseconds>(turn, clock_() + kAskForMoment);
  waiting.looks_again = (is_first || waiting.has_plan()) && waiting.ways.renew != nullptr && soon < turn;
  wait_until(waiting, waiting.looks_again ? soon : turn);
}

void AcquiringStore::on_first(std::uint64_t number) {
  {
    const detail::Held lock(mutex_);
    turns_.push_back(number);
  }
  soon_();
}

// The first in line asks at once: there may be room for it too. False: none is.
bool AcquiringStore::take_turns() {
  std::vector<std::uint64_t> turns;
  {
    const detail::Held lock(mutex_);
    turns.swap(turns_);
  }
  for (const std::uint64_t number : turns) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) continue;
    Waiting& waiting = *found->second;
    if (waiting.queue == nullptr || waiting.is_asked() || waiting.ended || waiting.refused) continue;
    waiting.looks_again = false;
    // Once told, it keeps its place among those that ask now.
    const bool is_told = waiting.waiting() && waiting.Waiter::deadline() <= nanoseconds{0};
    if (!is_told) waiters_.add(waiting, nanoseconds{0});
  }
  return !turns.empty();
}

// Who acts makes another the first, who may act too. Other work of the loop comes in between.
void AcquiringStore::advance(nanoseconds now) {
  constexpr int kRounds = 64;
  if (judge_ != nullptr) judge_some();
  take_turns();
  for (int round = 0; round < kRounds; ++round) {
    waiters_.advance(now);
    if (!take_turns()) return;
  }
  soon_();
}

void AcquiringStore::wait_until(Waiting& waiting, nanoseconds time) {
  const auto before = next_deadline();
  waiters_.add(waiting, time);
  if (!before || time < *before) changed_();
}

void AcquiringStore::on_due(Waiting& waiting) {
  if (waiting.is_asked()) return;  // its timer is of before; what it is told sets another
  if (waiting.queue != nullptr) return on_turn(waiting);
  if (waiting.refused && (waiting.is_postponed || waiting.has_gone)) return tell_refused(waiting);
  if (waiting.is_postponed) return begin_late(waiting, clock_());
  // Its time is over, or the server's, and it is there to be told.
  if (std::exchange(waiting.has_gone, false)) deny_in_line(waiting, nanoseconds{1});
}

// Of one that has waited.
bool AcquiringStore::finds_gone(Waiting& waiting) {
  if (has_gone_ == nullptr || !waiting.stood || waiting.is_given_up()) return false;
  return waiting.has_gone = has_gone_(*waiting.asker);
}

// Nobody waits for its answer: it stands in no line, and what it was granted has been given up.
void AcquiringStore::let_go(Waiting& waiting) {
  if (waiting.asker == nullptr) return remove(waiting);
  if (waiting.queue != nullptr) house_.queues.leave(waiting, false);
  wait_until(waiting, std::min(waiting.deadline, last_moment_));
}

// Of one whose plan's moment has come. Where the store does not say, it asks again, and the fallback may
// decide.
void AcquiringStore::on_moment(Waiting& waiting, nanoseconds now) {
  Waiting::InnerRequest& asked = waiting.asked();
  store::ReservationTerms& reservation = asked.terms;
  const bool is_told = asked.fault == Fault::none;
  const nanoseconds left = is_told ? reservation.wait : waiting.moment - now;
  asked.verb = Verb::reserve;
  asked.fault = Fault::none;
  asked.charged = true;
  std::tie(asked.by, asked.source, asked.charged_at) = asked.granted;
  if (waiting.is_given_up()) {
    take_back_moment(waiting, left, is_told);
    return let_go(waiting);
  }
  // A pause lies over its moment, or it is forgotten.
  if (!is_told || left < nanoseconds{0}) return plan_again(waiting, now);
  if (left <= nanoseconds{0}) {
    waiting.moment = std::min(waiting.moment, now);
    reservation.wait = waiting.moment - asked.since;
    return act(waiting);
  }
  // The store's clock has not come that far.
  waiting.moment = now + left;
  reservation.wait = waiting.moment - asked.since;
  if (waiting.moment > last_moment_) return end(waiting);
  settle_in(waiting);
}

// Of one that nobody waits for. What acts in the other store without a hold cannot be settled: as much as has
// not drained since goes back.
void AcquiringStore::take_back_moment(Waiting& waiting, nanoseconds left, bool is_told) {
  Waiting::InnerRequest& asked = waiting.asked();
  std::string id = std::exchange(asked.terms.id, {});
  if (left > nanoseconds{0}) return give_up({.id = std::move(id)}, Verb::cancel);
  if (asked.terms.hold.count() > 0) return give_up(asked.at_no_cost(std::move(id)), Verb::settle);
  if (!is_told || left < nanoseconds{0}) return give_up({.id = std::move(id)}, Verb::cancel);
  asked.charged_at += waiting.moment - asked.since;
  other_.give_back(asked, clock_());
}

void AcquiringStore::act(Waiting& waiting) {
  store::ReservationTerms& reservation = waiting.asked().terms;
  const std::uint64_t room = room_beside(waiting, waiting.asked().since);
  for (store::Check& each : waiting.asked().copies)
    each.decision.reset_after = std::max(nanoseconds{0}, each.decision.reset_after - reservation.wait);
  reservation.wait = nanoseconds{0};
  // There is nothing to cancel any more.
  if (reservation.hold.count() == 0) reservation.id.clear();
  if (waiting.queue != nullptr) house_.queues.leave(waiting, true, room);
  finish(waiting);
}

// How many units of the key for which it stands in line will fit beside it when the store hears of the next:
// what was left by what it was told at `since`, and what has drained by then. A store that answers at once is
// asked for one after the other.
std::uint64_t AcquiringStore::room_beside(const Waiting& waiting, nanoseconds since) const {
  if (tells_) return 0;
  const nanoseconds drains = clock_() - since + trip_;
  std::int64_t times = Queues::kTogether;
  for (const store::Check& each : waiting.inner->copies) {
    if (each.shadow || each.cost.units == 0) continue;
    const core::Rule& rule = each.limit->rule;
    if (store::takes_slot(each) || !core::may_wait(rule)) return 0;
    std::int64_t room = each.decision.remaining;
    if (core::can_reserve(rule.algorithm)) {
      const nanoseconds interval = rule.quota.emission_interval();
      const nanoseconds owed = std::max(nanoseconds{0}, each.decision.reset_after - drains);
      room = std::max<std::int64_t>(0, rule.quota.burst() - (owed + interval - nanoseconds{1}) / interval);
    }
    times = std::min(times, room / static_cast<std::int64_t>(each.cost.units));
  }
  return static_cast<std::uint64_t>(times) * waiting.units;
}

// Of one in line.
void AcquiringStore::on_turn(Waiting& waiting) {
  const nanoseconds now = clock_();
  Queues& queues = house_.queues;
  if (waiting.refused) {
    give_up_plan(waiting);
    queues.leave(waiting, false);
    return tell_refused(waiting);
  }
  if (const nanoseconds earliest = queues.too_late(waiting); earliest.count() > 0)
    return deny_in_line(waiting, earliest - waiting.max_wait - now);
  const bool is_first = queues.is_first(waiting);
  // It leaves its line to ask by other limits, which makes the next one the first.
  if (waiting.is_outdated && (is_first || waiting.asks_again) && !waiting.ended && beginning_ >= kBeginAtOnce)
    return wait_until(waiting, now + kAskWhenFewerDo);
  const bool asks_again = std::exchange(waiting.asks_again, false);
  if (waiting.ended) {
    const nanoseconds moment = is_first ? queues.first_moment(waiting) : waiting.moment;
    return deny_in_line(waiting, moment - now);
  }
  if (finds_gone(waiting)) {
    give_up_plan(waiting);
    return let_go(waiting);
  }
  if (waiting.has_plan()) return on_plan(waiting, now);
  if (now >= waiting.deadline && !is_first)
    return deny_in_line(waiting, queues.last_moment(waiting) - waiting.max_wait - now);
  const bool follows = !is_first && queues.takes_turn(waiting);
  if (follows && !asks_again && beginning_ >= kBeginAtOnce) return stay(waiting);
  if ((is_first || follows || asks_again) && renewed(waiting, now)) return;
  if (std::exchange(waiting.looks_again, false) && is_first) return settle_in(waiting);
  // One that came earlier may have joined the line since, or another line of its.
  if ((!is_first && !follows) || queues.join(waiting)) return settle_in(waiting);
  waiting.asked().terms.max_wait = waiting.left(now);
  if (!follows) return ask(waiting, {now, now});
  waiting.follows = true;
  ask_first(waiting, {now, now});
}

// In line, uncharged: it did not fit beside the first, which it may be by now.
void AcquiringStore::stay(Waiting& waiting) {
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  settle_in(waiting);
  if (house_.queues.stays(waiting)) wait_until(waiting, nanoseconds{0});
}

// Of one that has a plan: its moment has come, or may come earlier, or it is to look for other limits.
void AcquiringStore::on_plan(Waiting& waiting, nanoseconds now) {
  if (renewed(waiting, now)) return;
  // One that came earlier has joined the line since, and is told that it may be earlier.
  if (!house_.queues.is_first(waiting)) {
    house_.queues.unplan(waiting);
    give_up({.id = std::exchange(waiting.asked().terms.id, {})}, Verb::cancel);
    return settle_in(waiting);
  }
  if (std::exchange(waiting.looks_again, false) && now < waiting.moment) return settle_in(waiting);
  if (now < waiting.moment) return plan_again(waiting, now);
  // A question for its moment may take the store two round trips: who asks beside it would pass it.
  if (!waiting.is_on_time(now)) {
    house_.queues.follow(waiting, room_beside(waiting, waiting.asked().since));
    return plan_again(waiting, now);
  }
  waiting.asked().granted = {waiting.asked().by, waiting.asked().source, waiting.asked().charged_at};
  waiting.asked().verb = Verb::moment;
  ask(waiting, {now, now});
}

void AcquiringStore::give_up_plan(Waiting& waiting) {
  if (waiting.inner && !waiting.asked().terms.id.empty()) give_up_moment(waiting);
}

// It asks again, or is answered, if other limits are in force than it goes by.
bool AcquiringStore::renewed(Waiting& waiting, nanoseconds now) {
  waiting.is_outdated = false;
  if (waiting.ways.renew == nullptr || !waiting.ways.renew(*waiting.asker)) return false;
  give_up_plan(waiting);
  go_by_renewed(waiting, now);
  return true;
}

void AcquiringStore::go_by_renewed(Waiting& waiting, nanoseconds now) {
  house_.queues.leave(waiting, false);
  waiting.take_checks();
  waiting.looks_again = false;
  Waiting::InnerRequest& asked = waiting.asked();
  asked.terms.max_wait = waiting.left(now);
  if (waiting.asker->fault == Fault::none && !asked.copies.empty()) {
    asked.keep();
    return ask_first(waiting, {now, now});
  }
  asked.fault = waiting.asker->fault;
  asked.why = waiting.asker->why;
  asked.by = 0;
  asked.charged = false;
  asked.terms.id.clear();
  asked.terms.wait = nanoseconds{0};
  finish(waiting);
}

}  // namespace weir::inline v0_1::waiting
