// Every verb, every algorithm, every form of a charge: lists that the compiler keeps whole, for a switch
// without a default is an error where it lacks one of them. And in which ways each verb is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/rule.hpp"
#include "service/ask.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::verbs {

using store::Verb;
using Form = Outside::Form;
using namespace std::chrono_literals;

// What somebody wants of it who asks.
enum class Does : std::uint8_t {
  decides,     // whether something may happen
  looks,       // whether it might, or what is there
  reports,     // that something has happened
  gives_back,  // that it did not, or cost less
  extends,     // what is held, for longer
  forgets,
};

// One way to ask a verb.
struct Way {
  std::string name{};
  Verb verb;
  Does does;
  std::chrono::nanoseconds max_wait = 0s;  // of those that reserve
  bool gate = false;                       // a check that reserves where a limit has a hold
  Form form = Form::cost;                  // of a charge
  bool decides = false;                    // a charge on whose answer something hangs
  bool others_free = false;                // and that leaves the others free
  bool afresh = false;                     // a pause that forgets

  bool asks() const { return decides || others_free; }
};

// The values of an enumeration that `known` says something of.
template <class Enum, class Known>
std::vector<Enum> every(const Known& known) {
  std::vector<Enum> all;
  for (int i = 0; i < 256; ++i)
    if (known(static_cast<Enum>(i))) all.push_back(static_cast<Enum>(i));
  return all;
}

inline std::vector<Way> ways_of(Form form) {
  const Way charge{.verb = Verb::charge, .does = Does::reports, .form = form};
  const auto named = [&charge](const char* name, Does does = Does::reports) {
    Way way = charge;
    way.name = name;
    way.does = does;
    return way;
  };
  switch (form) {
    case Form::cost: {
      Way decides = named("charge that decides", Does::decides);
      decides.decides = true;
      Way frees = named("charge that leaves others free", Does::decides);
      frees.others_free = true;
      return {named("charge"), decides, frees};
    }
    case Form::remaining:
      return {named("remaining")};
    case Form::pause: {
      Way afresh = named("pause afresh");
      afresh.afresh = true;
      return {named("pause"), afresh};
    }
    case Form::refund: {
      Way decides = named("refund that decides", Does::gives_back);
      decides.decides = true;
      return {named("refund", Does::gives_back), decides};
    }
  }
  return {};  // there is none
}

inline std::vector<Way> ways_of(Verb verb) {
  const auto one = [verb](const char* name, Does does) {
    return std::vector<Way>{{.name = name, .verb = verb, .does = does}};
  };
  switch (verb) {
    case Verb::check: {
      std::vector<Way> both = one("check", Does::decides);
      both.push_back({.name = "gate", .verb = verb, .does = Does::decides, .gate = true});
      return both;
    }
    case Verb::look:
      return one("look", Does::looks);
    case Verb::reset:
      return one("reset", Does::forgets);
    case Verb::charge: {
      std::vector<Way> all;
      for (const Form form : every<Form>([](Form each) { return !ways_of(each).empty(); }))
        for (const Way& way : ways_of(form)) all.push_back(way);
      return all;
    }
    case Verb::take:
      return one("take", Does::decides);
    case Verb::reserve: {
      std::vector<Way> both = one("reserve", Does::decides);
      both.push_back({.name = "reserve ahead", .verb = verb, .does = Does::decides, .max_wait = 24h});
      return both;
    }
    case Verb::moment:
      return one("moment", Does::looks);
    case Verb::cancel:
      return one("cancel", Does::gives_back);
    case Verb::settle:
      return one("settle", Does::gives_back);
    case Verb::extend:
      return one("extend", Does::extends);
    case Verb::holds:
      return one("holds", Does::looks);
    case Verb::acquire:
      return one("acquire", Does::decides);
  }
  return {};  // there is none
}

inline std::vector<Way> every_way() {
  std::vector<Way> all;
  for (const Verb verb : every<Verb>([](Verb each) { return !ways_of(each).empty(); }))
    for (const Way& way : ways_of(verb)) all.push_back(way);
  return all;
}

constexpr int kMost = 3;     // units or slots, under each of these
constexpr int kRoom = 1000;  // under the one beside a shadow

// What a limit of the file says of how it counts.
constexpr const char* in_file(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::gcra:
      return "rate: 3/day burst 3, hold: { estimate: 1, ttl: 2h }";
    case Algorithm::fixed_window:
      return "rate: 3/day algorithm=fixed_window, hold: { estimate: 1, ttl: 2h }";
    case Algorithm::fixed_window_clock:
      return "rate: 3/day algorithm=fixed_window align=clock, hold: { estimate: 1, ttl: 2h }";
    case Algorithm::sliding_window_log:
      return "rate: 3/day algorithm=sliding_window_log";
    case Algorithm::sliding_window_counter:
      return "rate: 3/day algorithm=sliding_window_counter";
    case Algorithm::calendar:
      return "rate: 3/day align=calendar, hold: { estimate: 1, ttl: 2h }";
    case Algorithm::in_flight:
      return "in_flight: 3, hold: { ttl: 2h }";
  }
  return nullptr;  // there is none
}

inline std::vector<Algorithm> every_algorithm() {
  return every<Algorithm>([](Algorithm each) { return in_file(each) != nullptr; });
}

// What has happened under the key before.
enum class Before : std::uint8_t {
  nothing,
  used,      // one unit, or slot
  spent,     // all of them
  held,      // one, by a reservation that has a hold where there can be one
  ahead,     // all, and one more for a later moment where there can be one
  returned,  // one, that was given back where that can be
};
constexpr Before kEveryBefore[] = {Before::nothing, Before::used,  Before::spent,
                                   Before::held,    Before::ahead, Before::returned};
constexpr const char* name_of(Before before) {
  constexpr const char* kNames[] = {"nothing", "used", "spent", "held", "ahead", "returned"};
  return kNames[static_cast<std::size_t>(before)];
}

// One question: in one place and state it has one answer.
struct Case {
  Way way;
  Algorithm algorithm;
  Before before;
  WhenFull when_full = WhenFull::deny;
  OnStoreError on_store_error = OnStoreError::local;

  std::string name() const {
    std::string text = way.name + ", " + core::name_of(algorithm) + ", " + name_of(before);
    if (when_full == WhenFull::allow) text += ", when_full: allow";
    if (on_store_error == OnStoreError::allow) text += ", on_store_error: allow";
    if (on_store_error == OnStoreError::deny) text += ", on_store_error: deny";
    return text;
  }
};

}  // namespace weir::verbs
