// Several checks of one request: charged all or none.
#include <map>

#include "conformance/model.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

std::string all_left(Trial& trial, const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += std::to_string(trial.left(part.limit, part.key)) + " ";
  return text;
}

// For each number of checks, and each place of the one that is not allowed.
void when_one_is_not_allowed_none_is_charged(Trial& trial) {
  const Limit wide = trial.limit("5/h", 1);
  const Limit narrow = trial.limit("2/h", 2);
  for (std::size_t size = 2; size <= kMostChecks; ++size) {
    for (std::size_t bad = 0; bad < size; ++bad) {
      for (const std::uint64_t cost : {2U, 3U}) {  // denied, and never
        std::vector<Part> parts;
        const std::string run =
            std::to_string(size) + "/" + std::to_string(bad) + "/" + std::to_string(cost) + ":";
        for (std::size_t i = 0; i < size; ++i) parts.push_back({wide, run + std::to_string(i), 1});
        parts[bad].limit = narrow;
        if (cost == 2) trial.ask(narrow, parts[bad].key);
        parts[bad].cost = cost;
        const std::string before = all_left(trial, parts);
        TestRequest question(parts);
        trial.ask(question);
        trial.equal(static_cast<std::size_t>(question.by), bad, run + " by");
        trial.expect(question.decision().verdict == (cost == 2 ? Verdict::denied : Verdict::never),
                     run + " verdict");
        trial.equal(all_left(trial, parts), before, run + " left");
        if (!trial.violations.empty()) return;
      }
    }
  }
}

// Those that would have allowed a request that another denies say what is there: nothing was charged.
void a_denied_request_tells_of_the_others_what_is_so(Trial& trial) {
  const Limit wide = trial.limit("5/h", 1);
  const Limit narrow = trial.limit("2/h", 2);
  for (const std::size_t bad : {0U, 1U, 2U}) {
    const std::string run = std::to_string(bad) + ":";
    std::vector<Part> parts;
    for (std::size_t i = 0; i < 3; ++i) parts.push_back({wide, run + std::to_string(i), 2});
    parts[bad].limit = narrow;
    for (const Part& part : parts) trial.ask(part.limit, part.key);
    TestRequest question(parts);
    trial.ask(question);
    trial.expect(question.decision().verdict == Verdict::denied, run + " is denied");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Decision& told = question.checks[i].decision;
      trial.equal(told.remaining, i == bad ? 1 : 4, run + " remaining of " + parts[i].key);
      if (i != bad) trial.expect(told.verdict == Verdict::allowed, run + " verdict of " + parts[i].key);
      if (i != bad) trial.expect(told.reset_after <= 12min, run + " reset_after of " + parts[i].key);
    }
    if (!trial.violations.empty()) return;
  }
}

void when_all_are_allowed_all_are_charged(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  for (std::size_t size = 1; size <= kMostChecks; ++size) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < size; ++i)
      parts.push_back({limit, std::to_string(size) + ":" + std::to_string(i), 1 + i % 3});
    TestRequest question(parts);
    trial.ask(question);
    trial.expect(question.charged, "all are charged");
    for (const Part& part : parts)
      trial.equal(trial.left(limit, part.key), 5 - static_cast<std::int64_t>(part.cost),
                  "left of " + part.key);
    if (!trial.violations.empty()) return;
  }
}

// The most severe: never, then the denial that lasts longest, then the one with the least left; the first of
// equal ones.
void the_most_severe_check_decides(Trial& trial) {
  struct Row {
    std::vector<std::pair<const char*, std::uint64_t>> checks;  // limit and cost; of each 1 is used
    std::size_t by;
  };
  const Row rows[] = {
      {{{"9/h", 1}, {"5/h", 1}, {"7/h", 1}}, 1},               // least left
      {{{"5/h", 1}, {"5/h", 1}}, 0},                           // alike
      {{{"2/h", 1}, {"3/h", 3}, {"9/h", 1}}, 1},               // denied over allowed
      {{{"2/h", 2}, {"2/d", 2}, {"2/h", 2}}, 1},               // the longer wait
      {{{"2/d", 2}, {"2/h", 2}, {"2/d", 2}}, 0},               // the first of those that wait longest
      {{{"2/d", 2}, {"9/h", 10}, {"9/h", 1}}, 1},              // never over denied
      {{{"9/h", 1}, {"2/h", 2}, {"9/d", 10}, {"2/h", 3}}, 2},  // the first never, whatever is left
      {{{"9/h", 0}, {"5/h", 0}}, 1},                           // looks
      {{{"9/h", 9}, {"5/h", 0}}, 0},  // a look decides nothing that is denied elsewhere
  };
  for (const Row& row : rows) {
    const std::string run = "row " + std::to_string(&row - rows);
    std::vector<Part> parts;
    for (const auto& [text, cost] : row.checks) {
      parts.push_back({trial.limit(text, 3), run + std::to_string(parts.size()), cost});
      trial.ask(parts.back().limit, parts.back().key);
    }
    TestRequest question(parts);
    trial.ask(question);
    trial.equal(static_cast<std::size_t>(question.by), row.by, run);
  }
}

// A mixture of verdicts, each as the check would have been told alone.
void each_check_is_told_what_it_would_be_told_alone(Trial& trial) {
  core::Chance random;
  Model model;
  const std::vector<Limit> limits = {trial.limit("5/s", 1), trial.limit("3/min burst 8", 2),
                                     trial.limit("6/s algorithm=fixed_window", 3),
                                     trial.limit("9/s algorithm=sliding_window_counter", 4),
                                     trial.limit("5/s algorithm=sliding_window_log", 5)};
  for (int step = 0; step < 300; ++step) {
    std::vector<Part> parts;
    std::map<std::string, bool> used;
    const std::size_t size = 1 + random() % 5;
    while (parts.size() < size) {
      const std::size_t which = random() % limits.size();
      const core::Rule& rule = limits[which].rule;
      if (trial.world.refuses(rule)) continue;
      if (trial.world.spreads() && !core::can_give_back(rule.algorithm)) continue;
      const std::string key = std::to_string(10 * which + random() % 4);
      if (!used.emplace(key, true).second) continue;
      parts.push_back({limits[which], key, random() % 4});
    }
    TestRequest question(parts);
    trial.ask(question);
    expect_told(trial, question, model.ask(parts, trial.world.now()), "step " + std::to_string(step));
    if (!trial.violations.empty()) return;
    if (random() % 3 == 0) trial.world.advance(milliseconds{random() % 1500});
  }
}

void a_refused_algorithm_charges_nothing_of_its_request(Trial& trial) {
  const Limit good = trial.limit("5/h", 1);
  const Limit log = trial.limit("5/h algorithm=sliding_window_log", 2);
  if (!trial.world.refuses(log.rule) && !trial.world.spreads()) {
    trial.skipped = "it counts by every algorithm";
    return;
  }
  for (const bool first : {true, false}) {
    std::vector<Part> parts = {{good, "a"}, {good, "c"}};
    parts.insert(first ? parts.begin() : parts.end(), {log, "b"});
    TestRequest question(parts);
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "the request is refused");
    trial.equal(trial.left(good, "a"), 5, "left of the first");
    trial.equal(trial.left(good, "c"), 5, "left of the last");
  }
}

}  // namespace

std::vector<Property> all_or_none_properties() {
  return {
      {"when_one_is_not_allowed_none_is_charged", when_one_is_not_allowed_none_is_charged},
      {"a_denied_request_tells_of_the_others_what_is_so", a_denied_request_tells_of_the_others_what_is_so},
      {"when_all_are_allowed_all_are_charged", when_all_are_allowed_all_are_charged},
      {"the_most_severe_check_decides", the_most_severe_check_decides},
      {"each_check_is_told_what_it_would_be_told_alone", each_check_is_told_what_it_would_be_told_alone},
      {"a_refused_algorithm_charges_nothing_of_its_request",
       a_refused_algorithm_charges_nothing_of_its_request}};
}

}  // namespace weir::store::conformance
