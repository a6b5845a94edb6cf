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

inline std::uint64_t cancel(Trial& trial, const std::string& id) {
  TestRequest question({}, Verb::cancel);
  question.booking.id = id;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could cancel: " + question.why);
  return question.booking.given_back;
}

inline nanoseconds settle(Trial& trial, const std::string& id, std::uint64_t actual) {
  TestRequest question({}, Verb::settle);
  question.booking.id = id;
  question.booking.actual = actual;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could settle: " + question.why);
  return question.booking.wait;
}

}  // namespace weir::store::conformance
