// What the conformance suite must know of a store: how to reach it, how its time passes, and what it cannot
// do.
//
// A world is made fresh for each property. Its time is simulated and starts on a whole second; what a
// property asks at one moment is decided at that moment.
#pragma once

#include <chrono>
#include <string>

#include "core/rule.hpp"
#include "store/reservations.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store::conformance {

using std::chrono::nanoseconds;

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  virtual Store& store() = 0;
  virtual nanoseconds now() const = 0;
  // Time passes; what falls due meanwhile happens when it is due.
  virtual void advance(nanoseconds time) = 0;
  // Time passes, and what falls due meanwhile is left to the next advance().
  virtual void stand_still(nanoseconds time) { advance(time); }
  // Whatever can be answered without time passing is answered.
  virtual void settle() = 0;

  // How far the clock that windows go by is ahead of now().
  virtual nanoseconds wall_ahead() const { return nanoseconds{0}; }
  // That clock goes back by that, and now() goes on; false: there is no other.
  virtual bool step_back(nanoseconds) { return false; }
  // How the suite's limits are shared.
  virtual Sharing sharing() const { return {}; }
  // Whether the keys of one request may lie in several places that are asked one by one. Then a rule that
  // cannot give back is Fault::unsuitable among several.
  virtual bool spreads() const { return false; }
  // Whether requests of several checks, and resets, keep their place among the others of their keys.
  virtual bool keeps_order_of_several() const { return true; }
  // Whether requests can wait in the store (Verb::acquire).
  virtual bool lets_wait() const { return false; }
  // Whether the store says Fault::unsuitable to checks of this rule.
  virtual bool refuses(const core::Rule&) const { return false; }
  // What tells of slots that are free and of what was given back; null: the store does not.
  virtual Reservations* reservations() { return nullptr; }
  // Whether the store has slots (core::counts_slots).
  virtual bool has_slots() const { return true; }
  // Puts something that is not a limit where the store keeps this key's state; false: a store cannot have
  // that.
  virtual bool put_foreign_value(const Limit&, const std::string& /*key*/) { return false; }
  // From now on no answer comes from where the states are; false: they are in the store itself.
  virtual bool fall_silent() { return false; }
  // The answers come again, those that were held back first.
  virtual void speak_again() {}
};

}  // namespace weir::store::conformance
