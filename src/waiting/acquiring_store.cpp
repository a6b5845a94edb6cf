#include "waiting/acquiring_store.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "store/check_rules.hpp"
#include "store/reservations.hpp"
#include "store/slots.hpp"

namespace weir::inline v0_1::waiting {

using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

namespace {

constexpr std::chrono::milliseconds kHiccup{10};
// How long the first in line goes by limits that are no longer in force, at the longest.
constexpr std::chrono::seconds kLookAgain{1};
// How often the first in line for a slot asks a store that does not tell of one that is free.
constexpr std::chrono::milliseconds kAskForSlot{50};
// And one that has a plan for an earlier one.
constexpr std::chrono::milliseconds kAskForMoment{100};

// The rates alone could not be in time, whatever becomes of the slots.
bool rates_deny(std::span<const store::Check> checks, nanoseconds max_wait) {
  return std::any_of(checks.begin(), checks.end(), [max_wait](const store::Check& each) {
    const Decision& told = each.decision;
    return !each.shadow && !core::counts_slots(each.limit->rule.algorithm) && !told.allowed() &&
           (!told.retry_after || *told.retry_after > max_wait);
  });
}

}  // namespace

// One that is asked about, or waits: for its moment, or in line until there is room. What the other store is
// asked is a request of its own, with copies of the checks: its answer may come when the asker has gone, and
// then what was charged has to be given up.
struct AcquiringStore::Waiting final : Waiter, Queues::Place {
  struct InnerRequest final : Request {
    explicit InnerRequest(Waiting& its) : waiting(its) {
      on_answer = [](Request& request) {
        Waiting& self = static_cast<InnerRequest&>(request).waiting;
        self.store.on_answered(self, self.store.clock_());
      };
    }
    Waiting& waiting;
  };

  Waiting(AcquiringStore& its, Request& of, Renew how)
      : Waiter([](Waiter& self) {
          auto& waiting = static_cast<Waiting&>(self);
          waiting.store.on_due(waiting);
        }),
        store(its),
        asker(&of),
        renew(how),
        reservation(*of.reservation),
        asked(*this) {
    take_checks();
    asked.verb = Verb::reserve;
    asked.reservation = &reservation;
    reservation.id.clear();  // it may be what its asker was answered before
    reservation.stands_in_line = true;
    asked.patience = of.patience;
    owner = &its;
    number = its.house_.queues.next_number();
  }

  // Those that its asker has. It is in no line.
  void take_checks() {
    copies.assign(asker->checks.begin(), asker->checks.end());
    checks = asked.checks = copies;
    limits.clear();
    texts.clear();
  }

  // So late adds less than a unit to any span, or less than what a busy machine does.
  bool is_on_time(nanoseconds now) const {
    nanoseconds shortest = nanoseconds::max();
    for (const store::Check& each : copies)
      shortest = std::min(shortest, each.limit->rule.quota.emission_interval());
    return now - moment <= std::max<nanoseconds>(shortest, kHiccup);
  }

  // The settlement of its reservation at nothing, whatever its limits are.
  store::ReservationTerms at_no_cost(std::string id) const {
    store::Actual nothing;
    for (const store::Check& each : copies) nothing.limits.push_back(each.limit->id);
    return {.id = std::move(id), .actuals = {std::move(nothing)}};
  }

  // The keys at which it has a plan, which may come earlier by what is given back there.
  std::vector<std::uint64_t> planned_at() const {
    std::vector<std::uint64_t> keys;
    for (const store::Check& each : copies)
      if (core::can_reserve(each.limit->rule.algorithm) && each.cost.units != 0 && !each.shadow)
        keys.push_back(store::Reservations::place_of(each.hash));
    return keys;
  }
  // In line, and its moment is known: nobody who came later makes it later.
  bool has_plan() const { return queue != nullptr && !reservation.id.empty(); }

  // In line for one: nobody knows when it is free.
  bool is_for_slot() const { return queue != nullptr && store::takes_slot(copies[by]); }

  bool is_asked() const { return asked.state == Request::State::submitted; }

  // From now on the limits and the keys' bytes are its own: it may ask again.
  void keep() {
    if (!limits.empty()) return;
    std::size_t bytes = 0;
    for (const store::Check& each : copies)
      bytes += each.key.size() + each.colocate.size() + each.limit->name.size();
    texts.reserve(bytes);  // so that views of it stay where they are
    limits.reserve(copies.size());
    const auto copy = [this](std::string_view text) {
      texts.append(text);
      return std::string_view(texts).substr(texts.size() - text.size());
    };
    for (store::Check& each : copies) {
      store::Limit& limit = limits.emplace_back(*each.limit);
      limit.name = copy(limit.name);
      each.limit = &limit;
      each.key = copy(each.key);
      each.colocate = copy(each.colocate);
    }
  }

  AcquiringStore& store;
  Request* asker;  // null: it has gone
  Renew renew;
  store::ReservationTerms reservation;
  std::vector<store::Check> copies;
  std::vector<store::Limit> limits;
  std::string texts;
  InnerRequest asked;
  nanoseconds max_wait{0};
  nanoseconds arrived{0};
  nanoseconds deadline{0};
  nanoseconds own_deadline{0};        // however soon the server ends
  bool stood = false;                 // in line
  std::optional<nanoseconds> denied;  // it is asked only what remains: it is denied, with that wait
  bool told_at_once = true;           // inside submit(): then on_answer is not called
  bool in_house = false;
  bool turned_away = false;  // the house is full, and others might have had it wait
  bool is_judged = false;    // it is in line, and asked whether its rates can be in time
  bool ended = false;
  bool refused = false;         // it has no checks any longer
  Refuse may_refuse = nullptr;  // it is asked about, and is to be given to that when it is answered
  bool looks_again = false;     // its timer is earlier than its turn
  nanoseconds moment{0};        // to act; in line: when there would be room if nobody else came
  nanoseconds since{0};         // when it was granted that
  std::tuple<std::uint8_t, Source, nanoseconds>
      granted{};  // and what it was told then: by, source, charged_at
};

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
    if (each->is_asked()) other_.cancel(each->asked);
    if (each->queue != nullptr) house_.queues.leave(*each, false);
  }
  for (const auto& each : leaving_)
    if (each->state == Request::State::submitted) other_.cancel(*each);
}

void AcquiringStore::submit(std::span<Request* const> batch, store::Arrival when) {
  for (Request* const each : batch) {
    if (each->verb == Verb::acquire) {
      acquire(*each, when, nullptr);
    } else {
      other_.submit({&each, 1}, when);
    }
  }
}

AcquiringStore::Waiting& AcquiringStore::add(Request& request, Renew renew) {
  auto made = std::make_unique<Waiting>(*this, request, renew);
  Waiting& waiting = *made;
  waiting_.emplace(waiting.number, std::move(made));
  request.state = Request::State::submitted;
  request.ticket = &waiting;
  return waiting;
}

void AcquiringStore::reserve(Request& request, store::Arrival when) {
  const bool has_hold = request.reservation->hold.count() > 0;
  if (has_hold && house_.queues.has_lines_of_slots() && store::takes_slots(request.checks)) {
    Waiting& waiting = add(request, nullptr);
    waiting.max_wait = waiting.reservation.max_wait;
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
    asked.not_before = house_.queues.after_all(request.checks);
  Request* const one = &request;
  other_.submit({&one, 1}, when);
}

void AcquiringStore::acquire(Request& request, store::Arrival when, Renew renew) {
  Waiting& waiting = add(request, renew);
  nanoseconds& max_wait = waiting.reservation.max_wait;
  max_wait = std::clamp(last_moment_ - when.now, nanoseconds{0}, max_wait);
  if (max_wait.count() > 0) {
    waiting.in_house = house_.enter();
    waiting.turned_away = !waiting.in_house;
    if (waiting.turned_away) max_wait = nanoseconds{0};
  }
  waiting.max_wait = max_wait;
  waiting.arrived = when.now;
  const auto after = [now = when.now](nanoseconds wait) {
    return now + std::min(wait, nanoseconds::max() - now);
  };
  waiting.deadline = after(max_wait);
  waiting.latest = waiting.deadline;
  waiting.own_deadline = after(request.reservation->max_wait);
  if (!house_.queues.empty() && house_.queues.join(waiting)) {
    line_up(waiting, when.now);
  } else {
    ask(waiting, when);
  }
}

// It is in line, after those that came earlier: it stays if it can be in time.
void AcquiringStore::line_up(Waiting& waiting, nanoseconds now) {
  waiting.moment = house_.queues.last_moment(waiting);
  // What holds give back nobody knows.
  const bool is_known = !waiting.is_for_slot() && waiting.reservation.hold.count() == 0;
  const bool may_be_late = is_known && waiting.moment > waiting.deadline;
  if (may_be_late || waiting.max_wait.count() == 0) {
    if (waiting.turned_away) house_.turn_away();
    return deny_in_line(waiting, waiting.moment - waiting.max_wait - now);
  }
  if (waiting.is_for_slot()) {
    waiting.is_judged = true;
    waiting.asked.verb = Verb::look;
    return ask(waiting, {now, now});
  }
  waiting.told_at_once = false;
  waiting.keep();
  settle_in(waiting);
}

// In line for a slot, uncharged: it stays if its rates alone, as of now, can be in time. Its turn may have
// come while it was asked about.
void AcquiringStore::on_judged(Waiting& waiting, nanoseconds now) {
  waiting.asked.verb = Verb::reserve;
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  const bool is_late = now >= waiting.deadline || rates_deny(waiting.copies, waiting.deadline - now);
  if (waiting.asker != nullptr && waiting.asked.fault == Fault::none && !is_late) {
    waiting.told_at_once = false;
    waiting.keep();
    house_.queues.needs(waiting, waiting.planned_at());
    settle_in(waiting);
    if (house_.queues.is_first(waiting)) wait_until(waiting, nanoseconds{0});
    return;
  }
  house_.queues.leave(waiting, false);
  if (waiting.asker == nullptr) return remove(waiting);
  if (waiting.asked.fault != Fault::none) return finish(waiting);
  deny_by_longest(waiting);
}

// Uncharged, by what its slots and its rates were found to be. A slot that is free is for those in line.
void AcquiringStore::deny_by_longest(Waiting& waiting) {
  std::vector<store::Check>& checks = waiting.copies;
  Decision& slot = checks[waiting.by].decision;
  if (slot.allowed()) slot.retry_after = nanoseconds{1};
  if (slot.allowed()) slot.verdict = Verdict::busy;
  const store::Busy longest = store::longest_of(
      checks.size(), waiting.max_wait, [&](std::size_t i) -> auto& { return checks[i].limit->rule; },
      [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; });
  waiting.asked.by = longest.by;
  if (longest.wait.count() > 0) return deny(waiting, longest.wait);
  waiting.asked.charged = false;
  waiting.reservation.id.clear();
  waiting.reservation.wait = nanoseconds{-1};
  finish(waiting);
}

void AcquiringStore::ask(Waiting& waiting, store::Arrival when) {
  Request* const one = &waiting.asked;
  waiting.asked.fault = Fault::none;
  waiting.reservation.stood = std::max(nanoseconds{0}, when.now - waiting.arrived);
  other_.submit({&one, 1}, when);
  if (!waiting.is_asked()) return on_answered(waiting, when.now);
  waiting.told_at_once = false;
  waiting.keep();
}

void AcquiringStore::on_answered(Waiting& waiting, nanoseconds since) {
  Request& asked = waiting.asked;
  end_plan_before(waiting);
  if (waiting.may_refuse != nullptr && was_refused(waiting)) return;
  if (asked.verb == Verb::moment) return on_moment(waiting, clock_());
  if (std::exchange(waiting.is_judged, false)) return on_judged(waiting, clock_());
  const bool granted = asked.verb == Verb::reserve && asked.fault == Fault::none && asked.allowed();
  if (granted && waiting.asker != nullptr && waiting.reservation.wait.count() > 0)
    return plan(waiting, since);
  if (!granted && waiting.asker != nullptr && waits_for_room(waiting, since)) return;
  if (waiting.queue != nullptr) house_.queues.leave(waiting, granted);
  if (waiting.asker == nullptr) {
    if (granted) take_back(waiting);
    return remove(waiting);
  }
  if (waiting.denied && asked.fault == Fault::none) {
    if (store::takes_slot(waiting.copies[waiting.by])) return deny_by_longest(waiting);
    asked.by = static_cast<std::uint8_t>(waiting.by);
    return deny(waiting, *waiting.denied);
  }
  if (!granted && waiting.turned_away && asked.fault == Fault::none) house_.turn_away();
  finish(waiting);
}

void AcquiringStore::refuse_waiting(Refuse refuse) {
  for (const auto& [number, each] : waiting_) {
    if (each->asker == nullptr || each->refused) continue;
    if (each->is_asked()) {
      each->may_refuse = refuse;
    } else if (refuse(*each->asker)) {
      each->refused = true;
      wait_until(*each, nanoseconds{0});
    }
  }
}

// Of one that is answered. What it has been charged is given up.
bool AcquiringStore::was_refused(Waiting& waiting) {
  const Refuse refuse = std::exchange(waiting.may_refuse, nullptr);
  if (waiting.asker == nullptr || !refuse(*waiting.asker)) return false;
  if (waiting.asked.verb == Verb::moment) {
    give_up_moment(waiting);
  } else if (waiting.asked.verb == Verb::reserve && waiting.asked.fault == Fault::none &&
             waiting.asked.allowed()) {
    take_back(waiting);
  }
  if (waiting.queue != nullptr) house_.queues.leave(waiting, false);
  tell_refused(waiting);
  return true;
}

void AcquiringStore::tell_refused(Waiting& waiting) {
  waiting.take_checks();
  waiting.asked.fault = Fault::none;
  waiting.asked.by = 0;
  waiting.asked.charged = false;
  waiting.reservation.id.clear();
  finish(waiting);
}

// Denied, and told no moment: whether it waits in line for what has denied it.
bool AcquiringStore::waits_for_room(Waiting& waiting, nanoseconds since) {
  const Request& asked = waiting.asked;
  nanoseconds& wait = waiting.reservation.wait;
  if (asked.verb != Verb::reserve || asked.fault != Fault::none || waiting.max_wait.count() == 0 ||
      wait.count() <= 0)
    return false;
  if (waiting.copies[asked.by].decision.verdict == Verdict::busy) return waits_for_slot(waiting, since);
  if (!Queues::was_not_ahead(waiting.copies)) return false;
  const store::Check& check = waiting.copies[asked.by];
  if (core::counts_at_grant(check.limit->rule.algorithm)) return false;  // nobody waits for a window
  nanoseconds room = wait;
  if (check.inside != store::Check::kNoGuarantee) {
    // Its guarantee may have room earlier than what it borrows from.
    const auto& guaranteed = waiting.copies[check.inside].decision.retry_after;
    if (guaranteed) room = std::min(room, *guaranteed);
  }
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  if (room > waiting.deadline - since) {
    // The same request would wait for as long as it may.
    wait = std::max(nanoseconds{1}, wait - waiting.max_wait);
    waiting.copies[asked.by].decision.retry_after = wait;
    return false;
  }
  waiting.told_at_once = false;
  waiting.keep();
  waiting.moment = since + room;
  house_.queues.wait_for(waiting, asked.by, waiting.moment);
  settle_in(waiting);
  return true;
}

// Whatever the holds' times say: one may be settled any moment.
bool AcquiringStore::waits_for_slot(Waiting& waiting, nanoseconds since) {
  waiting.deadline = std::min(waiting.deadline, last_moment_);
  if (since >= waiting.deadline || rates_deny(waiting.copies, waiting.deadline - since)) return false;
  waiting.told_at_once = false;
  waiting.keep();
  const nanoseconds ask = tells_ ? nanoseconds{kLookAgain} : nanoseconds{kAskForSlot};
  waiting.moment = since + std::min(waiting.reservation.wait, ask);
  house_.queues.wait_for(waiting, waiting.asked.by, waiting.moment);
  house_.queues.needs(waiting, waiting.planned_at());
  settle_in(waiting);
  return true;
}

// It is the first of its line, or becomes it: what it has reserved is its plan.
void AcquiringStore::plan(Waiting& waiting, nanoseconds since) {
  waiting.told_at_once = false;
  waiting.keep();
  waiting.since = since;
  waiting.moment = since + waiting.reservation.wait;
  house_.queues.wait_for(waiting, waiting.asked.by, waiting.moment);
  house_.queues.plan(waiting, waiting.planned_at());
  if (waiting.moment > last_moment_) return end(waiting);
  settle_in(waiting);
}

// Something of its keys was given back, or may have been. Its place in line is its own meanwhile.
void AcquiringStore::plan_again(Waiting& waiting, nanoseconds now) {
  store::ReservationTerms& reservation = waiting.reservation;
  if (waiting.moment > now || reservation.hold.count() == 0) {
    reservation.instead_of = std::exchange(reservation.id, {});
  } else {
    give_up(waiting.at_no_cost(std::exchange(reservation.id, {})), Verb::settle);
  }
  reservation.id.clear();
  reservation.max_wait = std::max(nanoseconds{0}, waiting.deadline - now);
  ask(waiting, {now, now});
}

// What could not be asked has left the plan as it was.
void AcquiringStore::end_plan_before(Waiting& waiting) {
  std::string before = std::exchange(waiting.reservation.instead_of, {});
  if (before.empty() || waiting.asked.fault == Fault::none) return;
  give_up({.stands_in_line = true, .id = std::move(before)}, Verb::cancel);
}

// Of one in line, its timer: that of its turn, or of its deadline. The first looks for other limits, by which
// its turn may come earlier; in a store that does not tell, for whether something was given back.
void AcquiringStore::settle_in(Waiting& waiting) {
  waiting.stood = true;
  const Queues& queues = house_.queues;
  const bool is_first = queues.is_first(waiting);
  nanoseconds turn = waiting.has_plan() ? waiting.moment
                     : is_first         ? queues.first_moment(waiting)
                                        : waiting.deadline;
  if (waiting.is_for_slot()) turn = std::min(turn, waiting.deadline);
  if (queues.too_late(waiting).count() > 0) turn = nanoseconds{0};
  const nanoseconds soon = clock_() + kLookAgain;
  if (!tells_ && waiting.has_plan()) turn = std::min<nanoseconds>(turn, clock_() + kAskForMoment);
  waiting.looks_again = (is_first || waiting.has_plan()) && waiting.renew != nullptr && soon < turn;
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
    waiters_.add(waiting, nanoseconds{0});
  }
  return !turns.empty();
}

// Who acts makes another the first, who may act too. Other work of the loop comes in between.
void AcquiringStore::advance(nanoseconds now) {
  constexpr int kRounds = 64;
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
  if (waiting.queue != nullptr) on_turn(waiting);
}

// Of one whose plan's moment has come. Where the store does not say, it asks again, and the fallback may
// decide.
void AcquiringStore::on_moment(Waiting& waiting, nanoseconds now) {
  store::ReservationTerms& reservation = waiting.reservation;
  const bool is_told = waiting.asked.fault == Fault::none;
  const nanoseconds left = is_told ? reservation.wait : waiting.moment - now;
  waiting.asked.verb = Verb::reserve;
  waiting.asked.fault = Fault::none;
  waiting.asked.charged = true;
  std::tie(waiting.asked.by, waiting.asked.source, waiting.asked.charged_at) = waiting.granted;
  if (waiting.asker == nullptr) {
    const bool is_over = left <= nanoseconds{0} && reservation.hold.count() > 0;
    is_over ? give_up(waiting.at_no_cost(std::move(reservation.id)), Verb::settle)
            : give_up({.id = std::move(reservation.id)}, Verb::cancel);
    return remove(waiting);
  }
  // A pause lies over its moment, or it is forgotten.
  if (!is_told || left < nanoseconds{0}) return plan_again(waiting, now);
  if (left <= nanoseconds{0}) {
    waiting.moment = std::min(waiting.moment, now);
    reservation.wait = waiting.moment - waiting.since;
    return act(waiting);
  }
  // The store's clock has not come that far.
  waiting.moment = now + left;
  reservation.wait = waiting.moment - waiting.since;
  if (waiting.moment > last_moment_) return end(waiting);
  settle_in(waiting);
}

void AcquiringStore::act(Waiting& waiting) {
  store::ReservationTerms& reservation = waiting.reservation;
  for (store::Check& each : waiting.copies)
    each.decision.reset_after = std::max(nanoseconds{0}, each.decision.reset_after - reservation.wait);
  reservation.wait = nanoseconds{0};
  // There is nothing to cancel any more.
  if (reservation.hold.count() == 0) reservation.id.clear();
  if (waiting.queue != nullptr) house_.queues.leave(waiting, true);
  finish(waiting);
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
  if (waiting.ended) {
    const nanoseconds moment = is_first ? queues.first_moment(waiting) : waiting.moment;
    return deny_in_line(waiting, moment - now);
  }
  if (waiting.has_plan()) return on_plan(waiting, now);
  if (now >= waiting.deadline && !is_first)
    return deny_in_line(waiting, queues.last_moment(waiting) - waiting.max_wait - now);
  if (is_first && renewed(waiting, now)) return;
  if (std::exchange(waiting.looks_again, false) && is_first) return settle_in(waiting);
  // One that came earlier may have joined the line since, or another line of its.
  if (!is_first || queues.join(waiting)) return settle_in(waiting);
  waiting.reservation.max_wait = std::max(nanoseconds{0}, waiting.deadline - now);
  ask(waiting, {now, now});
}

// Of one that has a plan: its moment has come, or may come earlier, or it is to look for other limits.
void AcquiringStore::on_plan(Waiting& waiting, nanoseconds now) {
  if (waiting.renew != nullptr && waiting.renew(*waiting.asker)) {
    give_up_plan(waiting);
    return go_by_renewed(waiting, now);
  }
  if (std::exchange(waiting.looks_again, false) && now < waiting.moment) return settle_in(waiting);
  if (now < waiting.moment || !waiting.is_on_time(now)) return plan_again(waiting, now);
  waiting.granted = {waiting.asked.by, waiting.asked.source, waiting.asked.charged_at};
  waiting.asked.verb = Verb::moment;
  ask(waiting, {now, now});
}

void AcquiringStore::give_up_plan(Waiting& waiting) {
  if (!waiting.reservation.id.empty()) give_up_moment(waiting);
}

// It asks again, or is answered, if other limits are in force than it goes by.
bool AcquiringStore::renewed(Waiting& waiting, nanoseconds now) {
  if (waiting.renew == nullptr || !waiting.renew(*waiting.asker)) return false;
  go_by_renewed(waiting, now);
  return true;
}

void AcquiringStore::go_by_renewed(Waiting& waiting, nanoseconds now) {
  house_.queues.leave(waiting, false);
  waiting.take_checks();
  waiting.looks_again = false;
  waiting.reservation.max_wait = std::max(nanoseconds{0}, waiting.deadline - now);
  if (waiting.asker->fault == Fault::none && !waiting.copies.empty()) {
    waiting.keep();
    return ask(waiting, {now, now});
  }
  waiting.asked.fault = waiting.asker->fault;
  waiting.asked.why = waiting.asker->why;
  waiting.asked.by = 0;
  waiting.asked.charged = false;
  waiting.reservation.id.clear();
  waiting.reservation.wait = nanoseconds{0};
  finish(waiting);
}

// Not charged. What remains is asked for: it was not asked, or long ago.
void AcquiringStore::deny_in_line(Waiting& waiting, nanoseconds wait) {
  give_up_plan(waiting);
  house_.queues.leave(waiting, false);
  waiting.denied = std::max(nanoseconds{1}, wait);
  waiting.asked.verb = Verb::look;
  const nanoseconds now = clock_();
  ask(waiting, {now, now});
}

void AcquiringStore::deny(Waiting& waiting, nanoseconds wait) {
  waiting.reservation.id.clear();
  waiting.reservation.wait = wait;
  waiting.asked.charged = false;
  Decision& decision = waiting.copies[waiting.asked.by].decision;
  const bool is_slot = store::takes_slot(waiting.copies[waiting.asked.by]);
  decision.verdict = is_slot ? Verdict::busy : Verdict::denied;
  decision.retry_after = wait;
  finish(waiting);
}

void AcquiringStore::finish(Waiting& waiting) {
  Request& asker = *waiting.asker;
  const Request& asked = waiting.asked;
  for (std::size_t i = 0; i < waiting.copies.size(); ++i) {
    asker.checks[i].decision = waiting.copies[i].decision;
    asker.checks[i].hash = waiting.copies[i].hash;
  }
  asker.charged = asked.charged;
  asker.by = asked.by;
  asker.source = asked.source;
  asker.fault = asked.fault;
  asker.why = asked.why;
  asker.charged_at = asked.charged_at;
  asker.reservation->id = waiting.reservation.id;
  asker.reservation->wait = waiting.reservation.wait;
  asker.ticket = nullptr;
  asker.state = Request::State::answered;
  const bool is_cut_short = waiting.stood && waiting.own_deadline > last_moment_ && !asker.checks.empty() &&
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
  std::string id = std::exchange(waiting.reservation.id, {});
  give_up({.id = id}, Verb::cancel);
  // It may have come meanwhile: then there was nothing to cancel.
  if (waiting.reservation.hold.count() > 0) give_up(waiting.at_no_cost(std::move(id)), Verb::settle);
}

bool AcquiringStore::end(Request& pending) {
  Waiting& waiting = *static_cast<Waiting*>(pending.ticket);
  if (waiting.is_asked()) return false;
  end(waiting);
  return true;
}

// In advance(), where any of them may be destroyed while another is told.
void AcquiringStore::end(Waiting& waiting) {
  waiting.ended = true;
  wait_until(waiting, nanoseconds{0});
}

void AcquiringStore::end_all_after(nanoseconds moment, Tell tell) {
  last_moment_ = moment;
  tell_end_ = tell;
  const Queues& queues = house_.queues;
  for (const auto& [number, each] : waiting_) {
    if (each->is_asked() || each->refused) continue;
    const bool in_line = each->queue != nullptr;
    const bool is_first = in_line && queues.is_first(*each);
    if (std::max(each->moment, is_first ? queues.first_moment(*each) : nanoseconds{0}) > moment) {
      end(*each);
    } else if (in_line && each->deadline > moment) {
      each->deadline = moment;
      settle_in(*each);
    }
  }
}

// Of one whose asker has gone before it was granted.
void AcquiringStore::take_back(Waiting& waiting) {
  store::ReservationTerms& reservation = waiting.reservation;
  if (reservation.id.empty()) return other_.give_back(waiting.asked, clock_());
  if (reservation.wait.count() > 0) return give_up({.id = std::move(reservation.id)}, Verb::cancel);
  give_up(waiting.at_no_cost(std::move(reservation.id)), Verb::settle);
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
