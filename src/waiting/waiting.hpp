// One that an AcquiringStore asks about, or that waits in it. Only for its sources.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "store/check_rules.hpp"
#include "store/reservations.hpp"
#include "store/slots.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::waiting {

// One that is asked about, or waits: for its moment, or in line until there is room. Thousands stand in line,
// so what only those need that are asked about, or have a plan, is in InnerRequest.
struct AcquiringStore::Waiting final : Waiter, Queues::Place {
  // What the other store is asked: a request of its own, with copies of the checks, as its answer may come
  // when the asker has gone, and then what was charged has to be given up.
  struct InnerRequest final : store::Request {
    explicit InnerRequest(Waiting& its) : waiting(its), terms(its.terms.all()) {
      reservation = &terms;
      verb = store::Verb::reserve;
      patience = its.asker->patience;
      terms.stands_in_line = true;
      terms.max_wait = its.max_wait;
      take_checks();
      on_answer = [](store::Request& request) {
        Waiting& self = static_cast<InnerRequest&>(request).waiting;
        AcquiringStore& store = self.store;
        // An asker that has gone meanwhile is granted nothing.
        if (request.verb != store::Verb::look) store.finds_gone(self);
        store.on_answered(self, store.clock_());
        store.begin_postponed();
      };
    }

    void take_checks() {
      copies.assign(waiting.asker->checks.begin(), waiting.asker->checks.end());
      checks = copies;
      limits.clear();
      texts.clear();
    }

    // From now on the limits and the keys' bytes are its own.
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
    Waiting& waiting;
    store::ReservationTerms terms;
    std::vector<store::Check> copies;
    std::vector<store::Limit> limits;
    std::string texts;
    Queues::Lines under_way{};  // it is asked about for the first time, and may have to wait: in these
    std::optional<nanoseconds> denied;  // only what remains is asked: it is denied, with that wait
    Judge judge = nullptr;              // its asker is to be given to that when this is answered
    nanoseconds since{0};               // when it was granted its moment
    std::tuple<std::uint8_t, Source, nanoseconds>
        granted{};  // and what it was told then: by, source, charged_at
  };

  // What its asker has said of the reservation, which it may put away meanwhile.
  struct Terms {
    explicit Terms(const store::ReservationTerms& of)
        : max_wait(of.max_wait), hold(of.hold), client(of.client), address(of.address), bound(of.bound) {}
    store::ReservationTerms all() const {
      return {.max_wait = max_wait, .hold = hold, .bound = bound, .address = address, .client = client};
    }
    nanoseconds max_wait;
    nanoseconds hold;
    std::uint64_t client;
    std::string address;
    bool bound;
  };

  Waiting(AcquiringStore& its, store::Request& of, Ways how)
      : Waiter([](Waiter& self) {
          auto& waiting = static_cast<Waiting&>(self);
          waiting.store.on_due(waiting);
        }),
        store(its),
        asker(&of),
        ways(how),
        terms(*of.reservation) {
    checks = of.checks;
    owner = &its;
    has_hold = terms.hold.count() > 0;
    number = its.house_.queues.next_number();
  }

  // Made when it is needed; until then, and when it is forgotten, all that it will say is its asker's.
  InnerRequest& asked() {
    if (!inner) inner = std::make_unique<InnerRequest>(*this);
    checks = inner->checks;
    return *inner;
  }
  // It is not asked about, and has no plan.
  void forget_asked() {
    inner.reset();
    checks = asker->checks;
  }
  // Those that its asker has. It is in no line.
  void take_checks() {
    if (inner) inner->take_checks();
    checks = inner ? inner->checks : asker->checks;
  }

  // So late adds at most a unit to any span.
  bool is_on_time(nanoseconds now) const {
    nanoseconds shortest = nanoseconds::max();
    for (const store::Check& each : checks)
      shortest = std::min(shortest, each.limit->rule.quota.emission_interval());
    return now - moment <= shortest;
  }

  // In line, and its moment is known: nobody who came later makes it later.
  bool has_plan() const { return queue != nullptr && inner && !inner->terms.id.empty(); }

  // In line for one: nobody knows when it is free.
  bool is_for_slot() const { return queue != nullptr && store::takes_slot(checks[by]); }

  // Nobody waits for its answer.
  bool is_given_up() const { return asker == nullptr || has_gone; }

  bool is_asked() const { return inner && inner->state == store::Request::State::submitted; }

  static nanoseconds after(nanoseconds now, nanoseconds wait) {
    return now + std::min(wait, nanoseconds::max() - now);
  }
  // Until its time is over.
  nanoseconds left(nanoseconds now) const { return std::max(nanoseconds{0}, deadline - now); }
  // However soon the server ends.
  nanoseconds own_deadline() const { return after(arrived, terms.max_wait); }

  AcquiringStore& store;
  store::Request* asker;  // null: it was cancelled
  std::unique_ptr<InnerRequest> inner;
  Ways ways;
  Terms terms;
  nanoseconds max_wait{0};
  nanoseconds arrived{0};
  nanoseconds deadline{0};
  nanoseconds moment{0};      // to act; in line: when there would be room if nobody else came
  bool has_gone = false;      // its asker, and it is not cancelled yet; it stands in no line
  bool begins = false;        // it is asked about for the first time, or follows
  bool follows = false;       // then, or when it is not the first of its line, whether it fits now
  bool is_late = false;       // its plan, unless what is held makes it earlier
  bool is_postponed = false;  // until it is
  bool stood = false;         // in line
  bool told_at_once = true;   // inside submit(): then on_answer is not called
  bool in_house = false;
  bool turned_away = false;  // the house is full, and others might have had it wait
  bool is_judged = false;    // it is in line, and asked whether its rates can be in time
  bool ended = false;
  bool refused = false;      // it has no checks any longer
  bool is_outdated = false;  // other limits are in force than it goes by, perhaps
  bool asks_again = false;   // by those, whatever stands before it
  bool looks_again = false;  // its timer is earlier than its turn
};

}  // namespace weir::inline v0_1::waiting
