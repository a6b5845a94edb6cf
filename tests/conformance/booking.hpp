// Reservations as a property asks for them: one answer after the other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/trial.hpp"

namespace weir::inline v0_1::store::conformance {

inline bool nobody_waits_here(Trial& trial) {
  if (!trial.world.lets_wait()) trial.skipped = "nobody waits in this store";
  return !trial.world.lets_wait();
}

struct Booked {
  bool granted = false;
  nanoseconds wait{0};  // as ReservationTerms has it
  std::string id{};
  std::uint8_t by = 0;
};

inline Booked reserve(Trial& trial, std::vector<Part> parts, nanoseconds max_wait, nanoseconds hold = {}) {
  TestRequest question(std::move(parts), Verb::reserve);
  question.booking.max_wait = max_wait;
  question.booking.hold = hold;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could reserve: " + question.why);
  const bool granted = question.fault == Fault::none && question.allowed();
  return {granted, question.booking.wait, question.booking.id, question.by};
}
inline Booked reserve(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t units,
                      nanoseconds max_wait, nanoseconds hold = {}) {
  return reserve(trial, {{limit, key, units}}, max_wait, hold);
}

// An acquire.
class Waiting : public TestRequest {
 public:
  Waiting(Trial& its_trial, std::vector<Part> wanted, nanoseconds max_wait, nanoseconds hold = {})
      : TestRequest(std::move(wanted), Verb::acquire) {
    booking.max_wait = max_wait;
    booking.hold = hold;
    its_trial.submit({this});
    its_trial.world.settle();
  }
  Waiting(Trial& its_trial, const Limit& limit, const std::string& key, nanoseconds max_wait,
          std::uint64_t units = 1, nanoseconds hold = {})
      : Waiting(its_trial, {{limit, key, units}}, max_wait, hold) {}
  bool waits() const { return pending; }
};

// What is told of a reservation by its id; `what` is the verb in words.
inline ReservationTerms ask_of(Trial& trial, Verb verb, const std::string& what, ReservationTerms terms) {
  TestRequest question({}, verb);
  question.booking = std::move(terms);
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could " + what + ": " + question.why);
  return question.booking;
}
inline std::uint64_t cancel(Trial& trial, const std::string& id) {
  return ask_of(trial, Verb::cancel, "cancel", {.id = id}).given_back;
}
inline nanoseconds settle(Trial& trial, const std::string& id, std::uint64_t actual) {
  return ask_of(trial, Verb::settle, "settle", {.id = id, .actual = actual}).wait;
}
// Below 0: there is no such reservation.
inline nanoseconds moment(Trial& trial, const std::string& id) {
  return ask_of(trial, Verb::moment, "say the moment", {.id = id}).wait;
}
inline nanoseconds extend(Trial& trial, const std::string& id, nanoseconds time) {
  return ask_of(trial, Verb::extend, "extend", {.hold = time, .id = id}).wait;
}

inline Charged charge_outside(Trial& trial, const Limit& limit, const std::string& key, const Outside& what) {
  TestRequest question({{limit, key, what.units}}, Verb::charge);
  question.charging.outside = what;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could charge: " + question.why);
  return question.charging.told;
}
inline Charged pause(Trial& trial, const Limit& limit, const std::string& key, nanoseconds length,
                     bool afresh = false) {
  return charge_outside(trial, limit, key, Pause{length, afresh});
}
inline void charge(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t units) {
  charge_outside(trial, limit, key, Cost{units});
}
inline std::uint64_t refund(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t units) {
  return charge_outside(trial, limit, key, detail::refund_of(Cost{units})).charged;
}

// How long one that is denied is told to wait; 0: it was allowed.
inline nanoseconds retry_of(Trial& trial, const Limit& limit, const std::string& key,
                            std::uint64_t units = 1) {
  return trial.ask(limit, key, units).retry_after.value_or(nanoseconds{0});
}

}  // namespace weir::store::conformance
