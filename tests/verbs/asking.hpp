// Asks what the cases say, of a limits file that has a limit for each of them, in the way in which every
// front end asks: service/ask.hpp makes the question, a store answers it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limits/read.hpp"
#include "limits/set.hpp"
#include "service/ask.hpp"
#include "service/question.hpp"
#include "verbs/oracle.hpp"
#include "verbs/places.hpp"
#include "verbs/questions.hpp"

namespace weir::inline v0_1::verbs {

using service::Question;

struct Outcome {
  Answer answer = Answer::refused;
  std::string told{};      // all of it, but ids
  std::int64_t left = -1;  // afterwards; -1: nobody has looked

  std::string text() const { return told + "; then " + std::to_string(left) + " left"; }
};

inline std::string limit_of(const Case& asked) {
  return "a" + std::to_string(static_cast<int>(asked.algorithm)) + "-f" +
         std::to_string(static_cast<int>(asked.when_full)) + "-s" +
         std::to_string(static_cast<int>(asked.on_store_error));
}

// For each algorithm a limit of each kind, and one that only looks on beside another.
inline std::string limits_file() {
  std::string limits = "  roomy: { by: [user], rate: 1000/day burst 1000 }\n";
  std::string routes = "  - { when: { limit: roomy }, limits: [roomy] }\n";
  const auto add = [&](const std::string& name, const std::string& says, const char* beside) {
    limits += "  " + name + ": { by: [user], " + says + " }\n";
    routes += "  - { when: { limit: " + name + " }, limits: [" + beside + name + "] }\n";
  };
  for (const Algorithm algorithm : every_algorithm()) {
    for (const char* const full : {"deny", "allow"}) {
      for (const char* const error : {"local", "allow", "deny"}) {
        const Case one{{},
                       algorithm,
                       {},
                       full[0] == 'd' ? WhenFull::deny : WhenFull::allow,
                       error[0] == 'l'   ? OnStoreError::local
                       : error[0] == 'a' ? OnStoreError::allow
                                         : OnStoreError::deny};
        add(limit_of(one),
            std::string(in_file(algorithm)) + ", when_full: " + full + ", on_store_error: " + error, "");
      }
    }
    add("shadow-a" + std::to_string(static_cast<int>(algorithm)),
        std::string(in_file(algorithm)) + ", shadow: true", "roomy, ");
  }
  return "version: 1\nlimits:\n" + limits + "routes:\n" + routes;
}

inline std::shared_ptr<const limits::Set> set_for(Place& place) {
  const auto read = limits::read(limits_file(), {});
  for (const limits::Finding& each : read.findings)
    if (each.severity == limits::Severity::error) ADD_FAILURE() << to_text(each);
  if (!read.file) return nullptr;
  auto set = limits::Set::make(read.file, {.wall = place.world().wall_ahead()});
  if (!set) ADD_FAILURE() << to_text(set.error().front());
  return set ? *set : nullptr;
}

class Asking {
 public:
  explicit Asking(Place& place) : place_(place), set_(set_for(place)) {}

  // Of those limits: a case's own, or the one in shadow beside one that has room, or that one alone.
  enum class Of : std::uint8_t { own, shadow, roomy };

  // What has happened under the key before. The id of what was reserved, if anything.
  std::string prepare(const Case& asked, Of of) {
    const bool slots = core::counts_slots(asked.algorithm);
    const auto take = [&](int units) {
      // Slots are taken one by one.
      for (int i = 0; i < (slots ? units : 1); ++i) {
        Way way{.name = "take", .verb = slots ? Verb::reserve : Verb::check, .does = Does::decides};
        ask(way, asked, of, "", static_cast<std::uint64_t>(slots ? 1 : units));
      }
    };
    const auto hold = [&](nanoseconds max_wait) {
      const auto question =
          ask({.name = "hold", .verb = Verb::reserve, .does = Does::decides, .max_wait = max_wait}, asked, of,
              "");
      return question != nullptr && question->fault == Fault::none ? question->reservation->id
                                                                   : std::string();
    };
    switch (asked.before) {
      case Before::nothing:
        break;
      case Before::used:
        take(1);
        break;
      case Before::spent:
        take(kMost);
        break;
      case Before::held: {
        std::string id = hold(0s);
        if (id.empty() && of == Of::own) take(1);
        return id;
      }
      case Before::ahead:
        take(kMost);
        return hold(24h);
      case Before::returned:
        take(1);
        ask({.name = "refund", .verb = Verb::charge, .does = Does::gives_back, .form = Form::refund}, asked,
            of, "");
        break;
    }
    return "";
  }

  Outcome answer(const Case& asked, Of of, const std::string& id) {
    const auto question = ask(asked.way, asked, of, id);
    Outcome outcome{answer_of(asked.way, question.get()), ""};
    if (question == nullptr) {
      outcome.told = refusal_.sentence;
    } else {
      outcome.told = question->fault != Fault::none ? question->why : told_of(asked.way.verb, *question);
    }
    if (outcome.answer == Answer::away) return outcome;
    const auto looks = ask({.name = "look", .verb = Verb::look, .does = Does::looks}, asked, of, "");
    if (looks != nullptr && looks->fault == Fault::none && !looks->checks.empty())
      outcome.left = looks->decision().remaining;
    return outcome;
  }

 private:
  std::unique_ptr<Question> ask(const Way& way, const Case& asked, Of of, const std::string& id,
                                std::uint64_t units = 1) {
    const std::string limit = of == Of::own ? limit_of(asked)
                              : of == Of::roomy
                                  ? "roomy"
                                  : "shadow-a" + std::to_string(static_cast<int>(asked.algorithm));
    const std::string user = asked.name();
    const std::array attributes{limits::Attribute{"limit", limit}, limits::Attribute{"user", user}};
    const limits::Description description{.attributes = attributes, .cost = units};
    static constexpr service::Ask::Units kUnits{.most = 2, .least = 1};
    service::Ask ask{.verb = way.verb};
    if (!is_by_id(way.verb)) ask.as = &description;
    const std::string nobody = "nobody";
    ask.id = id.empty() ? nobody : id;
    // Of one of those that it meets.
    const bool of_one = way.form == Form::remaining || way.form == Form::pause;
    const std::string one = of == Of::own ? limit : "roomy";
    if (way.verb == Verb::holds || of_one || (way.verb == Verb::reset && of != Of::own)) ask.limit = one;
    ask.holds = way.gate;
    ask.max_wait = way.max_wait;
    if (way.verb == Verb::extend) ask.hold = 90min;
    ask.units = &kUnits;
    ask.form = way.form;
    ask.pause = {1h, way.afresh};
    auto question = std::make_unique<Question>();
    if (!make(ask, *question)) return nullptr;
    if (way.verb == Verb::charge) {
      question->charge->decides = way.decides;
      if (way.others_free) question->charge->others_free.emplace();
    }
    send(*question);
    return question;
  }

  bool make(const service::Ask& ask, Question& question) {
    service::Basis basis{.set = set_.get(), .memory = memory_, .allow_refunds = true};
    refusal_ = {};
    return service::prepare(ask, basis, question, refusal_);
  }

  void send(Question& question) {
    if (question.state == store::Request::State::answered) return;
    question.on_answer = [](store::Request&) {};
    question.patience = 5ms;
    store::conformance::World& world = place_.world();
    store::Request* const batch[] = {&question};
    world.store().submit(batch, {world.now(), world.now()});
    world.settle();
    for (int i = 0; i < 1000 && question.state != store::Request::State::answered; ++i) world.advance(5ms);
    EXPECT_EQ(question.state, store::Request::State::answered);
  }

  // No default: a verb without a row is refused by the compiler.
  static Answer answer_of(const Way& way, const Question* question) {
    if (question == nullptr) return Answer::refused;
    if (question->fault != Fault::none)
      return question->fault == Fault::store_down ? Answer::away : Answer::refused;
    switch (way.verb) {
      case Verb::check:
      case Verb::look:
      case Verb::take:
      case Verb::reserve:
      case Verb::acquire:
        return yes_if(question->checks.empty() || question->allowed());
      case Verb::reset:
        return yes_if(question->forgotten > 0);
      case Verb::charge: {
        if (way.asks()) return yes_if(question->allowed());
        const Charged& told = question->charge->told;
        if (way.form == Form::pause) return told.wait >= 1h ? Answer::yes : Answer::lost;
        return told.charged > 0 ? Answer::yes : told.dropped > 0 ? Answer::lost : Answer::no;
      }
      case Verb::moment:
      case Verb::settle:
        return yes_if(question->reservation->wait >= 0s);
      case Verb::extend:
        return yes_if(question->reservation->wait > 0s);
      case Verb::cancel:
        return yes_if(question->reservation->given_back > 0);
      case Verb::holds:
        return yes_if(!question->reservation->open.empty());
    }
    return Answer::refused;
  }

  static std::string told_of(Verb verb, const Question& question) {
    std::string text;
    const auto add = [&text](const char* name, auto value) {
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(value);
    };
    if (verb == Verb::charge && !question.charge->asks()) {
      const Charged& told = question.charge->told;
      add("charged", told.charged);
      add("overdraft", told.overdraft);
      add("remaining", told.remaining);
      add("wait", told.wait.count());
      add("reset", told.reset_after.count());
      add("dropped", told.dropped);
      return text;
    }
    if (!question.checks.empty() && verb != Verb::reset && verb != Verb::holds) {
      const Decision& told = question.decision();
      add("verdict", static_cast<int>(told.verdict));
      add("limit", told.limit);
      add("remaining", told.remaining);
      add("retry", told.retry_after.value_or(-1ns).count());
      add("reset", told.reset_after.count());
    }
    if (verb == Verb::take) add("granted", question.take->granted);
    if (verb < Verb::reserve) return text;
    if (verb == Verb::cancel) add("given back", question.reservation->given_back);
    if (verb == Verb::holds) add("open", question.reservation->open.size());
    if (verb != Verb::cancel && verb != Verb::holds) add("wait", question.reservation->wait.count());
    return text;
  }

  Place& place_;
  std::shared_ptr<const limits::Set> set_;
  limits::MatchMemory memory_;
  service::Refusal refusal_;
};

}  // namespace weir::verbs
