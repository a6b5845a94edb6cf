// As much as there is: the greatest number of units that every limit admits.
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/model.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

std::vector<Part> for_units(std::vector<Part> parts, std::uint64_t units) {
  for (Part& part : parts) part.cost *= units;
  return parts;
}

bool all_allow(const std::vector<Part>& parts, const std::vector<Decision>& decisions) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].shadow && !decisions[i].allowed()) return false;
  }
  return true;
}

std::uint64_t take(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t least,
                   std::uint64_t most) {
  TestRequest question({{limit, key}}, Verb::take);
  question.taking.least = least;
  question.taking.most = most;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could say how much: " + question.why);
  return question.taking.granted;
}

// One to three limits of any kind, with classes, shadows and guarantees, in one place.
std::vector<Part> some_parts(const Trial& trial, const std::vector<Limit>& limits, core::Chance& random) {
  std::vector<Part> parts;
  const std::size_t size = 1 + random() % 3;
  while (parts.size() < size) {
    const std::size_t which = random() % limits.size();
    Limit limit = limits[which];
    if (trial.world.refuses(limit.rule)) continue;
    const std::string key = std::to_string(10 * which + random() % 2);
    if (std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return part.key == key; })) continue;
    if (limit.rule.algorithm == Algorithm::gcra && random() % 2 == 0) {
      const nanoseconds full = limit.rule.quota.emission_interval() * limit.rule.quota.burst();
      limit.rule.kept = full * (random() % 4) / 4 + nanoseconds{random() % 3};
    }
    Part part{limit, key, random() % 8 == 0 ? 0 : 1 + random() % 3, random() % 3 == 0};
    part.colocate = "together";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].shadow && random() % 2 == 0) part.inside = static_cast<std::uint8_t>(i);
    }
    parts.push_back(part);
  }
  return parts;
}

// Each number is tried by itself, by the model.
void the_greatest_number_that_every_check_admits_is_granted(Trial& trial) {
  core::Chance random;
  Model model;
  const std::vector<Limit> limits = {
      trial.limit("5/s burst 8", 1),
      trial.limit("3/min burst 9", 2),
      trial.limit("20/s burst 12", 3),
      trial.limit("6/s algorithm=fixed_window", 4),
      trial.limit("9/2s algorithm=fixed_window align=clock", 5),
      trial.limit("12/2s algorithm=sliding_window_counter", 6),
      trial.limit("12/2s algorithm=sliding_window_log", 7),
  };
  int partly = 0, denied = 0;
  for (int step = 0; step < 400; ++step) {
    const std::string run = "step " + std::to_string(step);
    const std::vector<Part> parts = some_parts(trial, limits, random);
    const nanoseconds now = trial.world.now();
    TestRequest question(parts, Verb::take);
    question.taking.least = 1 + random() % 4;
    question.taking.most = question.taking.least + random() % 9;
    question.taking.looks = random() % 4 == 0;
    std::uint64_t greatest = 0;
    for (std::uint64_t units = question.taking.least; units <= question.taking.most; ++units) {
      Model copy = model;
      if (all_allow(parts, copy.ask(for_units(parts, units), now, true))) greatest = units;
    }
    trial.ask(question);
    trial.settle();
    trial.expect(question.fault == Fault::none, run + " " + question.why);
    trial.equal(question.taking.granted, greatest, run + " granted");
    const std::vector<Part> decided = for_units(parts, greatest != 0 ? greatest : question.taking.least);
    expect_told(trial, question, model.ask(decided, now, question.taking.looks), run);
    partly += greatest != 0 && greatest < question.taking.most ? 1 : 0;
    denied += greatest == 0 ? 1 : 0;
    if (!trial.violations.empty()) return;
    if (random() % 3 == 0) trial.world.advance(milliseconds{random() % 1500});
  }
  trial.expect(partly > 40 && denied > 40, "there was something to see");
}

void a_remembered_denial_of_more_denies_no_less(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  trial.ask(limit, "k", 8);
  for (int again = 0; again < 3; ++again) trial.expect(!trial.ask(limit, "k", 5).allowed(), "too much");
  trial.equal(take(trial, limit, "k", 3, 5), 0U, "granted, where the least is too much");
  trial.equal(take(trial, limit, "k", 1, 5), 2U, "granted");
  for (int again = 0; again < 3; ++again) trial.equal(take(trial, limit, "k", 1, 5), 0U, "and then");
  trial.world.advance(1s);
  trial.equal(take(trial, limit, "k", 1, 5), 1U, "a second later");
}

void a_most_above_the_burst_is_fine_and_a_least_above_it_is_never(Trial& trial) {
  const Limit limit = trial.limit("1/h burst 10", 1);
  constexpr std::uint64_t kLots = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t least : {std::uint64_t{11}, kLots}) {
    TestRequest question({{limit, "k"}}, Verb::take);
    question.taking.least = least;
    question.taking.most = kLots;
    trial.ask(question);
    trial.equal(shown(question.decision()), "never, 10 of 10 left, reset after 0 ns", "from rest");
  }
  trial.equal(take(trial, limit, "k", 10, kLots), 10U, "granted");
}

void keys_in_several_places_are_refused(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  std::vector<Part> parts;
  for (int i = 0; i < 8; ++i) parts.push_back({limit, "key" + std::to_string(i)});
  TestRequest question(parts, Verb::take);
  question.taking.most = 3;
  trial.ask(question);
  const bool spreads = trial.world.spreads();
  trial.expect(question.fault == (spreads ? Fault::unsuitable : Fault::none), "refused, or not");
  for (const Part& part : parts) trial.equal(trial.left(limit, part.key), spreads ? 5 : 2, "left");
}

void a_key_rests_when_the_least_is_denied_and_not_before(Trial& trial) {
  Limit limit = trial.limit("1/s burst 4", 1);
  limit.penalty = {.time = 1min};
  trial.equal(take(trial, limit, "k", 1, 3), 3U, "granted");
  trial.equal(take(trial, limit, "k", 1, 3), 1U, "taking what is left breaches nothing");
  TestRequest look({{limit, "k"}}, Verb::take);
  look.taking.looks = true;
  trial.ask(look);
  trial.equal(look.taking.granted, 0U, "nor is a look");
  trial.world.advance(1s);
  trial.equal(take(trial, limit, "k", 2, 3), 0U, "the least is denied");
  trial.world.advance(59s);
  trial.equal(take(trial, limit, "k", 1, 3), 0U, "it rests");
  trial.world.advance(1s);
  trial.equal(take(trial, limit, "k", 1, 3), 1U, "and then one unit");
}

void while_the_store_is_away_there_is_as_much_as_the_fallback_counts(Trial& trial) {
  const Limit limit = trial.limit("4/h", 1);
  trial.equal(take(trial, limit, "k", 1, 3), 3U, "granted by the store");
  if (!trial.world.fall_silent()) {
    trial.skipped = "its states are in this process and cannot fall silent";
    return;
  }
  for (const std::uint64_t should : {1U, 0U}) {
    TestRequest question({{limit, "k"}}, Verb::take);
    question.taking.most = 3;
    trial.submit({&question});
    trial.world.advance(1s);
    trial.settle();
    trial.equal(question.taking.granted, should, "granted by the fallback");
    trial.expect(question.source == Source::fallback, "it says who decided");
  }
}

}  // namespace

std::vector<Property> take_properties() {
  return {{"the_greatest_number_that_every_check_admits_is_granted",
           the_greatest_number_that_every_check_admits_is_granted},
          {"a_remembered_denial_of_more_denies_no_less", a_remembered_denial_of_more_denies_no_less},
          {"a_most_above_the_burst_is_fine_and_a_least_above_it_is_never",
           a_most_above_the_burst_is_fine_and_a_least_above_it_is_never},
          {"keys_in_several_places_are_refused", keys_in_several_places_are_refused},
          {"a_key_rests_when_the_least_is_denied_and_not_before",
           a_key_rests_when_the_least_is_denied_and_not_before},
          {"while_the_store_is_away_there_is_as_much_as_the_fallback_counts",
           while_the_store_is_away_there_is_as_much_as_the_fallback_counts}};
}

}  // namespace weir::store::conformance
