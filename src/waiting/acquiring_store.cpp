#include "waiting/acquiring_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::waiting {

using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

// One that is asked about, or waits for its moment. What the other store is asked is a request of its own,
// with copies of the checks: its answer may come when the asker has gone, and then the reservation has to be
// given up.
struct AcquiringStore::Waiting final : Waiter {
  struct Asked final : Request {
    explicit Asked(Waiting& its) : waiting(its) {
      on_answer = [](Request& request) {
        Waiting& self = static_cast<Asked&>(request).waiting;
        self.store.on_reserved(self, self.store.clock_());
      };
    }
    Waiting& waiting;
  };

  Waiting(AcquiringStore& its, Request& of)
      : Waiter([](Waiter& self) {
          auto& waiting = static_cast<Waiting&>(self);
          waiting.store.on_due(waiting);
        }),
        store(its),
        asker(&of),
        reservation(*of.reservation),
        checks(of.checks.begin(), of.checks.end()),
        asked(*this) {
    asked.checks = checks;
    asked.verb = Verb::reserve;
    asked.reservation = &reservation;
    asked.patience = of.patience;
  }

  AcquiringStore& store;
  Request* asker;  // null: it has gone
  store::Reservation reservation;
  std::vector<store::Check> checks;
  Asked asked;
  bool told_at_once = true;  // inside submit(): then on_answer is not called
  bool in_house = false;
  bool turned_away = false;  // the house is full, and others might have had it wait
  bool ended = false;
  nanoseconds moment{0};
  Place place;
};

// A cancel that is under way.
struct AcquiringStore::Leaving final : Request {
  Leaving(AcquiringStore& its, std::string id) : store(its) {
    which.id = std::move(id);
    verb = Verb::cancel;
    reservation = &which;
    on_answer = [](Request& request) {
      auto& self = static_cast<Leaving&>(request);
      self.store.leaving_.erase(self.place);
    };
  }
  AcquiringStore& store;
  store::Reservation which;
  std::list<std::unique_ptr<Leaving>>::iterator place;
};

AcquiringStore::AcquiringStore(store::Store& other, House& house, core::Clock clock,
                               std::function<void()> changed)
    : other_(other), house_(house), clock_(std::move(clock)), changed_(std::move(changed)) {}

AcquiringStore::~AcquiringStore() {
  for (const auto& each : waiting_)
    if (each->asked.state == Request::State::submitted) other_.cancel(each->asked);
  for (const auto& each : leaving_)
    if (each->state == Request::State::submitted) other_.cancel(*each);
}

void AcquiringStore::submit(std::span<Request* const> batch, store::Moment when) {
  for (Request* const each : batch) {
    if (each->verb == Verb::acquire) {
      begin(*each, when);
    } else {
      other_.submit({&each, 1}, when);
    }
  }
}

void AcquiringStore::begin(Request& request, store::Moment when) {
  waiting_.push_back(std::make_unique<Waiting>(*this, request));
  Waiting& waiting = *waiting_.back();
  waiting.place = std::prev(waiting_.end());
  request.state = Request::State::submitted;
  request.ticket = &waiting;
  store::Reservation& asked = waiting.reservation;
  asked.max_wait = std::clamp(last_moment_ - when.now, nanoseconds{0}, asked.max_wait);
  if (asked.max_wait.count() > 0) {
    waiting.in_house = house_.enter();
    waiting.turned_away = !waiting.in_house;
    if (waiting.turned_away) asked.max_wait = nanoseconds{0};
  }
  Request* const one = &waiting.asked;
  other_.submit({&one, 1}, when);
  if (waiting.asked.state == Request::State::answered) {
    on_reserved(waiting, when.now);
  } else {
    waiting.told_at_once = false;
  }
}

void AcquiringStore::on_reserved(Waiting& waiting, nanoseconds since) {
  const Request& asked = waiting.asked;
  const bool waits = asked.fault == Fault::none && asked.allowed() && waiting.reservation.wait.count() > 0;
  if (waiting.asker == nullptr) {
    if (!waiting.reservation.id.empty()) give_up(waiting.reservation.id);
    return remove(waiting);
  }
  if (!waits) {
    if (waiting.turned_away && asked.fault == Fault::none && !asked.allowed()) house_.turn_away();
    return finish(waiting);
  }
  waiting.told_at_once = false;
  waiting.moment = since + waiting.reservation.wait;
  // It took a while until it was answered.
  if (waiting.moment > last_moment_) return end(waiting);
  wait_until(waiting, waiting.moment);
}

void AcquiringStore::wait_until(Waiting& waiting, nanoseconds time) {
  const auto before = next_deadline();
  waiters_.add(waiting, time);
  if (!before || time < *before) changed_();
}

void AcquiringStore::on_due(Waiting& waiting) {
  store::Reservation& reservation = waiting.reservation;
  if (waiting.ended) return deny(waiting, std::max(nanoseconds{1}, waiting.moment - clock_()));
  for (store::Check& each : waiting.checks)
    each.decision.reset_after = std::max(nanoseconds{0}, each.decision.reset_after - reservation.wait);
  reservation.wait = nanoseconds{0};
  // There is nothing to cancel any more.
  if (reservation.hold.count() == 0) reservation.id.clear();
  finish(waiting);
}

void AcquiringStore::deny(Waiting& waiting, nanoseconds wait) {
  give_up(std::exchange(waiting.reservation.id, {}));
  waiting.reservation.wait = wait;
  waiting.asked.charged = false;
  Decision& decision = waiting.checks[waiting.asked.by].decision;
  decision.verdict = Verdict::denied;
  decision.retry_after = wait;
  finish(waiting);
}

void AcquiringStore::finish(Waiting& waiting) {
  Request& asker = *waiting.asker;
  const Request& asked = waiting.asked;
  for (std::size_t i = 0; i < waiting.checks.size(); ++i) {
    asker.checks[i].decision = waiting.checks[i].decision;
    asker.checks[i].hash = waiting.checks[i].hash;
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
  const bool told_at_once = waiting.told_at_once;
  remove(waiting);
  if (!told_at_once) asker.on_answer(asker);
}

void AcquiringStore::cancel(Request& pending) {
  if (pending.verb != Verb::acquire) return other_.cancel(pending);
  Waiting& waiting = *static_cast<Waiting*>(std::exchange(pending.ticket, nullptr));
  pending.state = Request::State::idle;
  waiting.asker = nullptr;
  // Its reservation is given up when it is known.
  if (!waiting.waiting()) return;
  give_up(waiting.reservation.id);
  remove(waiting);
}

bool AcquiringStore::end(Request& pending) {
  Waiting& waiting = *static_cast<Waiting*>(pending.ticket);
  if (!waiting.waiting()) return false;
  end(waiting);
  return true;
}

// In advance(), where any of them may be destroyed while another is told.
void AcquiringStore::end(Waiting& waiting) {
  waiting.ended = true;
  wait_until(waiting, nanoseconds{0});
}

void AcquiringStore::end_all_after(nanoseconds moment) {
  last_moment_ = moment;
  for (const auto& each : waiting_)
    if (each->waiting() && each->moment > moment) end(*each);
}

void AcquiringStore::give_up(std::string id) {
  leaving_.push_back(std::make_unique<Leaving>(*this, std::move(id)));
  Leaving& leaving = *leaving_.back();
  leaving.place = std::prev(leaving_.end());
  const nanoseconds now = clock_();
  Request* const one = &leaving;
  other_.submit({&one, 1}, {now, now});
  if (leaving.state == Request::State::answered) leaving_.erase(leaving.place);
}

void AcquiringStore::remove(Waiting& waiting) {
  if (waiting.in_house) house_.leave();
  waiting_.erase(waiting.place);
}

}  // namespace weir::waiting
