// One that an AcquiringStore asks about, or that waits in it. Only for its sources.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
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

// One that is asked about, or waits: for its moment, or in line until there is room. What the other store is
// asked is a request of its own, with copies of the checks: its answer may come when the asker has gone, and
// then what was charged has to be given up.
struct AcquiringStore::Waiting final : Waiter, Queues::Place {
  struct InnerRequest final : store::Request {
    explicit InnerRequest(Waiting& its) : waiting(its) {
      on_answer = [](store::Request& request) {
        Waiting& self = static_cast<InnerRequest&>(request).waiting;
        AcquiringStore& store = self.store;
        // An asker that has gone meanwhile is granted nothing.
        if (self.asked.verb != store::Verb::look) store.finds_gone(self);
        store.on_answered(self, store.clock_());
        store.begin_postponed();
      };
    }
    Waiting& waiting;
  };

  Waiting(AcquiringStore& its, store::Request& of, Renew how)
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
    asked.verb = store::Verb::reserve;
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

  static constexpr std::chrono::milliseconds kHiccup{10};
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

  // Nobody waits for its answer.
  bool is_given_up() const { return asker == nullptr || has_gone; }

  bool is_asked() const { return asked.state == store::Request::State::submitted; }

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
  store::Request* asker;  // null: it was cancelled
  bool has_gone = false;  // and is not cancelled yet; it stands in no line
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
  bool begins = false;                // it is asked about for the first time
  Queues::Lines under_way{};          // then, and it may have to wait: in these
  bool follows = false;               // then only whether it fits now
  bool is_postponed = false;          // until it is
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

}  // namespace weir::inline v0_1::waiting
