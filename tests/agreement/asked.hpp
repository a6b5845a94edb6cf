// What the tests of reservations ask of a store: each question in words, so that a trace can be read, and all
// that an asker can see of its answer.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/verb_traits.hpp"

namespace weir::inline v0_1::questions {

using std::chrono::nanoseconds;
using store::Check;
using store::Request;
using store::Verb;

// A question as both are asked it; ids are numbers here, because each has its own.
struct Asked {
  Verb verb;
  std::vector<Check> checks{};
  std::int64_t max_wait = 0;
  std::int64_t hold = 0;
  std::size_t id = 0;
  std::optional<std::uint64_t> actual{};
  std::vector<store::Actual> actuals{};
  Outside outside = Cost{1};  // of a charge
  std::optional<store::OthersFree> others_free{};
  std::uint64_t least = 1, most = 1;  // of a take, whose checks cost one unit
};

inline std::string told(const Decision& each) {
  return std::to_string(static_cast<int>(each.verdict)) + "/" + std::to_string(each.limit) + "/" +
         std::to_string(each.remaining) + "/" +
         (each.retry_after ? std::to_string(each.retry_after->count()) : "-") + "/" +
         std::to_string(each.reset_after.count());
}

inline std::string text_of(const Asked& asked) {
  constexpr std::array kForms{"cost", "remaining", "pause", "refund"};
  std::string text(store::name_of(asked.verb));
  if (asked.verb == Verb::reserve) text += " max_wait " + std::to_string(asked.max_wait);
  if (asked.hold != 0) text += " hold " + std::to_string(asked.hold);
  if (is_by_id(asked.verb)) text += " id " + std::to_string(asked.id);
  if (asked.actual) text += " actual " + std::to_string(*asked.actual);
  if (asked.verb == Verb::charge)
    text += " " + std::string(kForms.at(static_cast<std::size_t>(asked.outside.form))) + " " +
            std::to_string(asked.outside.units) + " for " + std::to_string(asked.outside.length.count()) +
            " overdraft " + std::to_string(asked.outside.overdraft.count());
  if (asked.others_free)
    text += " others free, if it fits " + std::to_string(asked.others_free->if_it_fits) + " leaves one " +
            std::to_string(asked.others_free->leaves_one);
  for (const store::Actual& each : asked.actuals) text += " " + each.name + "=" + std::to_string(each.units);
  for (const Check& each : asked.checks)
    text += ", " + std::to_string(each.cost.units) + " of " + std::string(each.limit->name) +
            (each.shadow ? " shadow" : "") + (each.inside == 0 ? " inside" : "");
  return text;
}
inline std::string text_of(const store::Limit& limit) {
  const Quota& quota = limit.rule.quota;
  return "burst " + std::to_string(quota.burst()) + " T " +
         std::to_string(quota.emission_interval().count()) + " kept " +
         std::to_string(limit.rule.kept.count()) + " at most " + std::to_string(limit.holding.at_most) +
         " penalty " + std::to_string(limit.penalty.time.count()) + " x " +
         std::to_string(limit.penalty.growing) + " to " + std::to_string(limit.penalty.most.count()) +
         (limit.holding.settles ? "" : " never settled");
}

// What came of it, all that an asker can see.
struct Answer {
  bool failed = false;
  bool granted = false;
  bool has_id = false;
  std::int64_t wait = 0;
  std::uint64_t units = 0;
  std::string text{};
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual void submit(Request& request, std::size_t process) = 0;

  Answer ask(const Asked& asked, std::size_t process) {
    std::vector<Check> checks = asked.checks;
    store::ChargeTerms charging{.outside = asked.outside, .others_free = asked.others_free};
    store::TakeTerms taking;
    taking.least = asked.least;
    taking.most = asked.most;
    for (std::size_t i = 0; i < checks.size(); ++i) taking.unit[i] = checks[i].cost.units;
    store::ReservationTerms reservation{.max_wait = nanoseconds{asked.max_wait},
                                        .hold = nanoseconds{asked.hold},
                                        .actual = asked.actual,
                                        .actuals = asked.actuals};
    if (is_by_id(asked.verb)) reservation.id = ids_.at(asked.id);
    Request request{.checks = checks, .verb = asked.verb, .reservation = &reservation};
    request.charge = &charging;
    request.take = &taking;
    request.on_answer = [](Request&) {};
    submit(request, process);
    EXPECT_EQ(request.state, Request::State::answered);
    Answer answer;
    answer.text = "fault " + std::to_string(static_cast<int>(request.fault)) + " " + request.why;
    answer.failed = request.fault != Fault::none;
    if (answer.failed) return answer;
    // How many it has forgotten is not compared: by this time no key expires in Redis.
    if (asked.verb == Verb::cancel) answer.text += " back " + std::to_string(reservation.given_back);
    if ((is_by_id(asked.verb) && asked.verb != Verb::cancel) || asked.verb == Verb::reserve) {
      answer.wait = reservation.wait.count();
      answer.text += " wait " + std::to_string(answer.wait);
    }
    if (asked.verb == Verb::charge) {
      const weir::Charged& told = charging.told;
      answer.text += " charged " + std::to_string(told.charged) + " over " + std::to_string(told.overdraft) +
                     " wait " + std::to_string(told.wait.count()) + " reset " +
                     std::to_string(told.reset_after.count()) + " dropped " + std::to_string(told.dropped);
    }
    if (asked.verb == Verb::take) answer.text += " units " + std::to_string(taking.granted);
    answer.units = taking.granted;
    if (asked.others_free)
      for (const Check& each : checks) answer.text += " " + told(each.decision);
    if (is_by_id(asked.verb) || asked.verb == Verb::reset || asked.verb == Verb::charge) return answer;
    answer.granted = request.charged;
    answer.has_id = asked.verb == Verb::reserve && !reservation.id.empty();
    if (answer.has_id) ids_.push_back(reservation.id);
    answer.text += std::string(answer.granted ? " granted" : " denied") + (answer.has_id ? " id" : "") +
                   " by " + std::to_string(request.by);
    for (const Check& each : checks) answer.text += " " + told(each.decision);
    return answer;
  }
  std::size_t ids() const { return ids_.size(); }

 private:
  std::vector<std::string> ids_;
};

}  // namespace weir::questions
