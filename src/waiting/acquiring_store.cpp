#include "waiting/acquiring_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "store/check_rules.hpp"
#include "store/slots.hpp"
#include "waiting/waiting.hpp"

namespace weir::inline v0_1::waiting {

using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

// A reservation that is being given up.
struct AcquiringStore::Leaving final : Request {
  Leaving(AcquiringStore& its, store::ReservationTerms its_which, Verb how)
      : store(its), which(std::move(its_which)) {
    verb = how;
    reservation = &which;
    on_answer = [](Request& request) {
      auto& self = static_cast<Leaving&>(request);
      self.store.leaving_.erase(self.place);
    };
  }
  AcquiringStore& store;
  store::ReservationTerms which;
  std::list<std::unique_ptr<Leaving>>::iterator place;
};

AcquiringStore::AcquiringStore(store::Store& other, House& house, core::ClockFunction clock,
                               std::function<void()> changed, std::function<void()> soon, bool tells)
    : other_(other),
      house_(house),
      tells_(tells),
      clock_(std::move(clock)),
      changed_(std::move(changed)),
      soon_(std::move(soon)) {}

AcquiringStore::~AcquiringStore() {
  soon_ = [] {};  // its loop may have ended
  for (const auto& [number, each] : waiting_) {
    if (each->is_asked()) other_.cancel(each->asked());
    if (each->queue != nullptr) house_.queues.leave(*each, false);
  }
  for (const auto& each : leaving_)
    if (each->state == Request::State::submitted) other_.cancel(*each);
}

void AcquiringStore::submit(std::span<Request* const> batch, store::Arrival when) {
  for (Request* const each : batch) {
    if (each->verb == Verb::acquire) {
      acquire(*each, when, {});
    } else {
      other_.submit({&each, 1}, when);
    }
  }
}

AcquiringStore::Waiting& AcquiringStore::add(Request& request, Ways ways) {
  auto made = std::make_unique<Waiting>(*this, request, ways);
  Waiting& waiting = *made;
  waiting_.emplace(waiting.number, std::move(made));
  request.state = Request::State::submitted;
  request.ticket = &waiting;
  return waiting;
}

void AcquiringStore::reserve(Request& request, store::Arrival when) {
  const bool has_hold = request.reservation->hold.count() > 0;
  if (has_hold && house_.queues.has_lines_of_slots() && store::takes_slots(request.checks)) {
    Waiting& waiting = add(request, {});
    waiting.max_wait = request.reservation->max_wait;
    if (house_.queues.join(waiting, Queues::Of::slots)) {
      request.verb = Verb::acquire;
      request.reservation->max_wait = nanoseconds{0};
      return deny_in_line(waiting, nanoseconds{1});
    }
    waiting_.erase(waiting.number);
    request.state = Request::State::idle;
  }
  store::ReservationTerms& asked = *request.reservation;
  if (asked.max_wait.count() > 0 && !house_.queues.empty())
    asked.lines = house_.queues.lines_ahead(request.checks, when.now);
  Request* const one = &request;
  other_.submit({&one, 1}, when);
}

void AcquiringStore::acquire(Request& request, store::Arrival when, Ways ways) {
  Waiting& waiting = add(request, ways);
  nanoseconds& max_wait = waiting.max_wait;
  max_wait = std::clamp(last_moment_ - when.now, nanoseconds{0}, request.reservation->max_wait);
  if (max_wait.count() > 0) {
    waiting.in_house = house_.enter();
    waiting.turned_away = !waiting.in_house;
    if (waiting.turned_away) max_wait = nanoseconds{0};
  }
  waiting.arrived = when.now;
  waiting.deadline = Waiting::after(when.now, max_wait);
  waiting.latest = waiting.deadline;
  waiting.is_postponed = beginning_ >= kBeginAtOnce || !postponed_.empty();
  waiting.is_postponed ? postpone(waiting) : begin(waiting, when);
}

void AcquiringStore::postpone(Waiting& waiting) {
  waiting.is_postponed = true;
  waiting.told_at_once = false;
  waiting.forget_asked();
  postponed_.insert(waiting.number);
  wait_until(waiting, waiting.deadline);
}

// Its time is over, whatever becomes of those before it, and it has to be told what there is.
void AcquiringStore::begin_late(Waiting& waiting, nanoseconds now) {
  postponed_.erase(waiting.number);
  waiting.is_postponed = false;
  waiting.asked().terms.max_wait = nanoseconds{0};
  if (joins_line(waiting, now)) return;
  waiting.follows = true;
  ask_first(waiting, {now, now});
}

bool AcquiringStore::joins_line(Waiting& waiting, nanoseconds now) {
  if (house_.queues.empty() || !house_.queues.join(waiting)) return false;
  line_up(waiting, now);
  return true;
}

void AcquiringStore::begin(Waiting& waiting, store::Arrival when) {
  if (joins_line(waiting, when.now)) return;
  if (waiting.max_wait.count() == 0) return ask_first(waiting, when);
  Queues::Lines lines = Queues::lines_of(waiting.checks);
  const bool leads = may_lead(waiting.number, lines);
  if (!leads && !may_follow(lines)) return postpone(waiting);
  if (!leads) waiting.asked().terms.max_wait = nanoseconds{0};
  waiting.follows = !leads;
  set_out(waiting, std::move(lines), when);
}

// Of those that may stand in one line the oldest that is under way is asked for a plan. Those that ask there
// for as much are asked meanwhile whether they fit now, and stand in line after it if not. The others wait
// for its answer, as a smaller one might fit where one before it did not.
bool AcquiringStore::may_lead(std::uint64_t number, const Queues::Lines& lines) const {
  return std::all_of(lines.begin(), lines.end(), [this, number](const auto& line) {
    const auto found = under_way_.find(line.first);
    return found == under_way_.end() || *found->second.numbers.begin() > number;
  });
}
bool AcquiringStore::may_follow(const Queues::Lines& lines) const {
  return std::all_of(lines.begin(), lines.end(), [this](const auto& line) {
    const auto found = under_way_.find(line.first);
    return found == under_way_.end() || found->second.units == line.second;
  });
}
void AcquiringStore::set_out(Waiting& waiting, Queues::Lines lines, store::Arrival when) {
  for (const auto& [name, units] : lines) {
    UnderWay& its = under_way_[name];
    its.units = units;
    its.numbers.insert(waiting.number);
  }
  waiting.asked().under_way = std::move(lines);
  ask_first(waiting, when);
}
void AcquiringStore::come_back(Waiting& waiting) {
  for (const auto& [name, units] : std::exchange(waiting.asked().under_way, {})) {
    const auto found = under_way_.find(name);
    if (found == under_way_.end()) continue;  // it meets that line twice
    found->second.numbers.erase(waiting.number);
    if (found->second.numbers.empty()) under_way_.erase(found);
  }
}

// Of one that does not fit now, but after that wait. Where all before it have been answered it is the first
// of a line, so that those after it need not ask.
void AcquiringStore::begin_again(Waiting& waiting, nanoseconds wait) {
  const nanoseconds now = clock_();
  Waiting::InnerRequest& asked = waiting.asked();
  asked.terms.max_wait = waiting.left(now);
  if (joins_line(waiting, now)) return;
  Queues::Lines lines = Queues::lines_of(waiting.checks);
  if (!may_lead(waiting.number, lines)) return postpone(waiting);
  const core::Rule& rule = asked.copies[asked.by].limit->rule;
  const bool has_moment =
      core::can_reserve(rule.algorithm) && core::may_wait(rule) && asked.terms.full_for <= nanoseconds{0};
  if (wait <= nanoseconds{0} || !has_moment) return set_out(waiting, std::move(lines), {now, now});
  waiting.told_at_once = false;
  waiting.moment = now + wait;
  house_.queues.wait_for(waiting, asked.by, waiting.moment,
                         Queues::kFar);  // what is held is not known
  waiting.stood = true;
  house_.queues.is_first(waiting) ? ask_first(waiting, {now, now}) : settle_in(waiting);
}

void AcquiringStore::ask_first(Waiting& waiting, store::Arrival when) {
  waiting.begins = true;
  ++beginning_;
  ask(waiting, when);
}

// Where a store answers at once, one after the other rather than each within the one before. While some of a
// line are asked about none is that came later, who might find what has drained since one of them did not
// fit.
void AcquiringStore::begin_postponed() {
  if (std::exchange(begins_postponed_, true)) return;
  bool has_leader = false;
  while (!postponed_.empty() && beginning_ < kBeginAtOnce) {
    const auto found = waiting_.find(*postponed_.begin());
    const bool is_there = found != waiting_.end() && !found->second->refused;
    if (!is_there) {
      postponed_.erase(postponed_.begin());
      continue;
    }
    Waiting& waiting = *found->second;
    has_leader = has_leader || may_lead(waiting.number, Queues::lines_of(waiting.checks));
    if (!has_leader && !house_.queues.has_line_for(waiting)) break;
    postponed_.erase(postponed_.begin());
    waiting.is_postponed = false;
    const nanoseconds now = clock_();
    waiting.asked().terms.max_wait = waiting.left(now);
    const std::uint64_t number = waiting.number;
    begin(waiting, {now, now});
    if (postponed_.contains(number)) break;  // it waits for another's answer
  }
  begins_postponed_ = false;
}

// It is in line, after those that came earlier: it stays if it can be in time.
void AcquiringStore::line_up(Waiting& waiting, nanoseconds now) {
  waiting.moment = house_.queues.last_moment(waiting);
  // What holds give back nobody knows.
  const bool is_known = !waiting.is_for_slot() && !waiting.has_hold;
  const bool is_late = is_known && house_.queues.last_moment_at_best(waiting) > waiting.deadline;
  if (is_late || waiting.max_wait.count() == 0) {
    if (waiting.turned_away) house_.turn_away();
    return deny_in_line(waiting, waiting.moment - waiting.max_wait - now);
  }
  if (waiting.is_for_slot()) {
    waiting.is_judged = true;
    waiting.asked().verb = Verb::look;
    return ask_first(waiting, {now, now});
  }
  waiting.told_at_once = false;
  settle_in(waiting);
}

// Uncharged, by what its slots and its rates were found to be. A slot that is free is for those in line.
void AcquiringStore::deny_by_longest(Waiting& waiting) {
  Waiting::InnerRequest& asked = waiting.asked();
  std::vector<store::Check>& checks = asked.copies;
  Decision& slot = checks[waiting.by].decision;
  if (slot.allowed()) slot.retry_after = nanoseconds{1};
  if (slot.allowed()) slot.verdict = Verdict::busy;
  const store::Busy longest = store::longest_of(
      checks.size(), waiting.max_wait, [&](std::size_t i) -> auto& { return checks[i].limit->rule; },
      [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; });
  asked.by = longest.by;
  if (longest.wait.count() > 0) return deny(waiting, longest.wait);
  asked.charged = false;
  asked.terms.id.clear();
  asked.terms.wait = nanoseconds{-1};
  finish(waiting);
}

void AcquiringStore::ask(Waiting& waiting, store::Arrival when) {
  Waiting::InnerRequest& asked = waiting.asked();
  Request* const one = &asked;
  asked.fault = Fault::none;
  asked.terms.follows = waiting.follows && waiting.queue != nullptr;
  asked.terms.stood = std::max(nanoseconds{0}, when.now - waiting.arrived);
  other_.submit({&one, 1}, when);
  if (!waiting.is_asked()) return on_answered(waiting, when.now);
  waiting.told_at_once = false;
  asked.keep();
}

void AcquiringStore::on_answered(Waiting& waiting, nanoseconds since) {
  Waiting::InnerRequest& asked = waiting.asked();
  const bool by_store = asked.fault == Fault::none && asked.source == Source::store;
  if (by_store) trip_ = since - waiting.arrived - asked.terms.stood;
  if (std::exchange(waiting.begins, false)) --beginning_;
  come_back(waiting);
  end_plan_before(waiting);
  if (asked.judge != nullptr && was_refused(waiting)) return;
  if (asked.verb == Verb::moment) return on_moment(waiting, clock_());
  if (std::exchange(waiting.is_judged, false)) return on_judged(waiting, clock_());
  const bool granted = asked.verb == Verb::reserve && asked.fault == Fault::none && asked.allowed();
  const bool follows = std::exchange(waiting.follows, false);
  if (granted && !waiting.is_given_up() && asked.terms.wait.count() > 0) return plan(waiting, since);
  const bool fits_not_now = follows && !granted && asked.fault == Fault::none;
  if (fits_not_now && !waiting.is_given_up()) {
    const nanoseconds wait = asked.terms.wait;
    if (waiting.queue != nullptr) return stay(waiting);
    if (!waiting.ended && clock_() < waiting.deadline) return begin_again(waiting, wait);
    const nanoseconds over = waiting.ended ? nanoseconds{0} : waiting.max_wait;
    if (wait >= nanoseconds{0}) return deny(waiting, std::max(nanoseconds{1}, wait - over));
  }
  if (!granted && !waiting.is_given_up() && waits_for_room(waiting, since)) return;
  if (waiting.is_given_up()) {
    if (granted) take_back(waiting);
    return let_go(waiting);
  }
  if (waiting.queue != nullptr)
    house_.queues.leave(waiting, granted, granted ? room_beside(waiting, since) : 0);
  if (const auto denied = asked.denied; denied && asked.fault == Fault::none) {
    if (store::takes_slot(asked.copies[waiting.by])) return deny_by_longest(waiting);
    asked.by = static_cast<std::uint8_t>(waiting.by);
    return deny(waiting, *denied);
  }
  if (!granted && waiting.turned_away && asked.fault == Fault::none) house_.turn_away();
  finish(waiting);
}

void AcquiringStore::judge_waiting(Judge judge) {
  judge_ = judge;
  next_judged_ = 0;
}

// Other work of the loop comes in between.
void AcquiringStore::judge_some() {
  constexpr int kAtOnce = 256;
  auto found = waiting_.lower_bound(next_judged_);
  for (int left = kAtOnce; left > 0 && found != waiting_.end(); --left, ++found) {
    Waiting& each = *found->second;
    if (each.asker == nullptr || each.refused) continue;
    each.is_outdated = true;
    if (each.is_asked()) {
      each.asked().judge = judge_;
      continue;
    }
    const Judged judged = judge_(*each.asker);
    each.refused = judged == Judged::refused;
    each.asks_again = judged == Judged::asks_again;
    if (each.refused || (each.asks_again && each.queue != nullptr)) wait_until(each, nanoseconds{0});
  }
  if (found == waiting_.end()) {
    judge_ = nullptr;
    return;
  }
  next_judged_ = found->first;
  soon_();
}

// Of one that is answered. What it has been charged is given up.
bool AcquiringStore::was_refused(Waiting& waiting) {
  Waiting::InnerRequest& asked = waiting.asked();
  const Judge judge = std::exchange(asked.judge, nullptr);
  if (waiting.asker == nullptr) return false;
  const Judged judged = judge(*waiting.asker);
  waiting.asks_again = judged == Judged::asks_again;
  if (judged != Judged::refused) return false;
  if (asked.verb == Verb::moment) {
    give_up_moment(waiting);
  } else if (asked.verb == Verb::reserve && asked.fault == Fault::none && asked.allowed()) {
    take_back(waiting);
  }
  if (waiting.queue != nullptr) house_.queues.leave(waiting, false);
  tell_refused(waiting);
  return true;
}

void AcquiringStore::tell_refused(Waiting& waiting) {
  waiting.take_checks();
  Waiting::InnerRequest& asked = waiting.asked();
  asked.fault = Fault::none;
  asked.by = 0;
  asked.charged = false;
  asked.terms.id.clear();
  finish(waiting);
}

// Not charged. What remains is asked for: it was not asked, or long ago.
void AcquiringStore::deny_in_line(Waiting& waiting, nanoseconds wait) {
  give_up_plan(waiting);
  if (waiting.queue != nullptr) house_.queues.leave(waiting, false);
  waiting.asked().denied = std::max(nanoseconds{1}, wait);
  waiting.asked().verb = Verb::look;
  const nanoseconds now = clock_();
  ask(waiting, {now, now});
}

void AcquiringStore::deny(Waiting& waiting, nanoseconds wait) {
  Waiting::InnerRequest& asked = waiting.asked();
  asked.terms.id.clear();
  asked.terms.wait = wait;
  asked.charged = false;
  Decision& decision = asked.copies[asked.by].decision;
  const bool is_slot = store::takes_slot(asked.copies[asked.by]);
  decision.verdict = is_slot ? Verdict::busy : Verdict::denied;
  decision.retry_after = wait;
  finish(waiting);
}

void AcquiringStore::finish(Waiting& waiting) {
  Request& asker = *waiting.asker;
  const Waiting::InnerRequest& asked = waiting.asked();
  for (std::size_t i = 0; i < asked.copies.size(); ++i) {
    asker.checks[i].decision = asked.copies[i].decision;
    asker.checks[i].hash = asked.copies[i].hash;
  }
  asker.charged = asked.charged;
  asker.by = asked.by;
  asker.source = asked.source;
  asker.fault = asked.fault;
  asker.why = asked.why;
  asker.charged_at = asked.charged_at;
  if (asker.reservation == nullptr) waiting.ways.room(asker) = waiting.terms.all();
  asker.reservation->id = asked.terms.id;
  asker.reservation->wait = asked.terms.wait;
  asker.ticket = nullptr;
  asker.state = Request::State::answered;
  const bool is_cut_short = waiting.stood && waiting.own_deadline() > last_moment_ && !asker.checks.empty() &&
                            asker.fault == Fault::none && !asker.allowed() &&
                            asker.reservation->wait >= nanoseconds{0};
  if (is_cut_short && tell_end_ != nullptr) tell_end_(asker);
  const bool told_at_once = waiting.told_at_once;
  remove(waiting);
  if (!told_at_once) asker.on_answer(asker);
}

void AcquiringStore::cancel(Request& pending) {
  if (pending.verb != Verb::acquire) return other_.cancel(pending);
  Waiting& waiting = *static_cast<Waiting*>(std::exchange(pending.ticket, nullptr));
  pending.state = Request::State::idle;
  waiting.asker = nullptr;
  // What it has charged is given up when that is known.
  if (waiting.is_asked()) return;
  give_up_plan(waiting);
  remove(waiting);
}

void AcquiringStore::give_up_moment(Waiting& waiting) {
  std::string id = std::exchange(waiting.asked().terms.id, {});
  give_up({.id = id}, Verb::cancel);
  // It may have come meanwhile: then there was nothing to cancel.
  if (waiting.asked().terms.hold.count() > 0)
    give_up(waiting.asked().at_no_cost(std::move(id)), Verb::settle);
}

void AcquiringStore::end(Request& pending) { end(*static_cast<Waiting*>(pending.ticket)); }

// In advance(), where any of them may be destroyed while another is told.
void AcquiringStore::end(Waiting& waiting) {
  waiting.ended = true;
  if (!waiting.is_asked()) wait_until(waiting, nanoseconds{0});
}

void AcquiringStore::end_all_after(nanoseconds moment, Tell tell) {
  last_moment_ = moment;
  tell_end_ = tell;
  const Queues& queues = house_.queues;
  for (const auto& [number, each] : waiting_) {
    if (each->is_asked() || each->refused) continue;
    const bool in_line = each->queue != nullptr;
    const bool is_first = in_line && queues.is_first(*each);
    if (each->has_gone ||
        std::max(each->moment, is_first ? queues.first_moment(*each) : nanoseconds{0}) > moment) {
      end(*each);
    } else if (in_line && each->deadline > moment) {
      each->deadline = moment;
      settle_in(*each);
    }
  }
}

// Of one whose asker has gone before it was granted.
void AcquiringStore::take_back(Waiting& waiting) {
  Waiting::InnerRequest& asked = waiting.asked();
  store::ReservationTerms& reservation = asked.terms;
  if (reservation.id.empty()) return other_.give_back(asked, clock_());
  if (reservation.wait.count() > 0) return give_up({.id = std::move(reservation.id)}, Verb::cancel);
  give_up(asked.at_no_cost(std::move(reservation.id)), Verb::settle);
}

void AcquiringStore::give_up(store::ReservationTerms which, Verb verb) {
  leaving_.push_back(std::make_unique<Leaving>(*this, std::move(which), verb));
  Leaving& leaving = *leaving_.back();
  leaving.place = std::prev(leaving_.end());
  const nanoseconds now = clock_();
  Request* const one = &leaving;
  other_.submit({&one, 1}, {now, now});
  if (leaving.state == Request::State::answered) leaving_.erase(leaving.place);
}

void AcquiringStore::remove(Waiting& waiting) {
  if (waiting.queue != nullptr) house_.queues.leave(waiting, false);
  if (waiting.in_house) house_.leave();
  waiting_.erase(waiting.number);
}

}  // namespace weir::waiting
