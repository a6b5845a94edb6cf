// The conformance suite: what every store must do, as properties that are tried one by one on fresh worlds.
//
// A property is named after what must hold. It returns early, with Trial::skipped, where a store has nothing
// to show.
#pragma once

#include <vector>

#include "conformance/trial.hpp"

namespace weir::inline v0_1::store::conformance {

struct Property {
  const char* name;
  void (*try_on)(Trial&);
};

inline void PrintTo(const Property& property, std::ostream* out) { *out << property.name; }

std::vector<Property> verdict_properties();      // what one check is told
std::vector<Property> all_or_none_properties();  // several checks of one request
std::vector<Property> class_properties();        // classes, shadow checks, guarantees, looks at a cost
std::vector<Property> identity_properties();     // which checks mean the same state
std::vector<Property> answer_properties();       // when requests are answered, and when not
std::vector<Property> give_back_properties();
std::vector<Property> reset_properties();
std::vector<Property> reserve_properties();           // and what becomes of a reservation
std::vector<Property> ledger_properties();            // who fits, and that nothing moves
std::vector<Property> counted_at_grant_properties();  // fixed windows that a reservation meets
std::vector<Property> moves_up_properties();  // of those who wait, when a call costs less than it was charged
std::vector<Property> acquire_properties();   // reservations that are answered when their moment has come
std::vector<Property> charge_properties();    // what is charged afterwards
std::vector<Property> others_free_properties();  // those that are over leave the others free
std::vector<Property> pause_properties();
std::vector<Property> afresh_properties();   // pauses, and rests, after which a key is afresh
std::vector<Property> penalty_properties();  // the rest after a breach
std::vector<Property> refund_properties();
std::vector<Property> take_properties();   // as much as there is
std::vector<Property> slot_properties();   // how many holds are open at once
std::vector<Property> holds_properties();  // which of them are open
std::vector<Property> calendar_properties();
std::vector<Property> stepped_properties();  // a clock of the store's own that steps back
std::vector<Property> failure_properties();  // foreign values, a store that is away

inline std::vector<Property> all_properties() {
  std::vector<Property> all;
  for (const auto& some : {verdict_properties(),  all_or_none_properties(),
                           class_properties(),    identity_properties(),
                           answer_properties(),   give_back_properties(),
                           reset_properties(),    reserve_properties(),
                           ledger_properties(),   counted_at_grant_properties(),
                           acquire_properties(),  moves_up_properties(),
                           charge_properties(),   others_free_properties(),
                           pause_properties(),    penalty_properties(),
                           refund_properties(),   take_properties(),
                           slot_properties(),     holds_properties(),
                           calendar_properties(), failure_properties(),
                           afresh_properties(),   stepped_properties()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace weir::store::conformance
