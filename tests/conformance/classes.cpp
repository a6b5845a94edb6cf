// Classes that share a limit, shadow checks, guarantees, and looks at what a request would be told.
#include <string>
#include <vector>

#include "conformance/model.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The limit as a class has it that leaves a part of the burst free.
Limit leaving(Limit limit, nanoseconds kept) {
  limit.rule.kept = kept;
  return limit;
}

void a_class_leaves_its_part_of_the_burst_free(Trial& trial) {
  const Limit critical = trial.limit("1/s burst 10", 1);
  const Limit bulk = leaving(critical, 5s);
  const Limit part = leaving(critical, 4s + 1ns);
  trial.equal(shown(trial.ask(bulk, "k", 0)), "allowed, 5 of 10 left, reset after 0 ns", "from rest");
  trial.equal(shown(trial.ask(part, "k", 0)), "allowed, 5 of 10 left, reset after 0 ns", "rounded");
  trial.equal(shown(trial.ask(bulk, "k", 6)), "never, 5 of 10 left, reset after 0 ns", "above its part");
  trial.equal(shown(trial.ask(bulk, "k", 5)), "allowed, 0 of 10 left, reset after 5000000000 ns", "its part");
  trial.equal(shown(trial.ask(bulk, "k")),
              "denied, 0 of 10 left, retry after 1000000000 ns, reset after 5000000000 ns", "one more");
  trial.equal(shown(trial.ask(critical, "k", 4)), "allowed, 1 of 10 left, reset after 9000000000 ns",
              "the more important one");
  trial.equal(shown(trial.ask(bulk, "k")),
              "denied, 0 of 10 left, retry after 5000000000 ns, reset after 9000000000 ns", "now longer");
  trial.world.advance(5s - 1us);
  trial.expect(!trial.ask(bulk, "k").allowed(), "before its time it is denied");
  trial.world.advance(1us);
  trial.expect(trial.ask(bulk, "k").allowed(), "the wait was enough");
}

// What one class is denied, remembered or not, says nothing of a more important one.
void a_denial_of_a_class_denies_no_more_important_one(Trial& trial) {
  const Limit critical = trial.limit("1/s burst 9", 1);
  const Limit bulk = leaving(critical, 6s);
  for (int i = 0; i < 6; ++i) {
    for (int again = 0; again < 3; ++again) trial.ask(bulk, "k", 2);
    trial.expect(!trial.ask(bulk, "k", 2).allowed(), "the class is denied");
    trial.expect(trial.ask(critical, "k").allowed(), "the more important one is not");
  }
  trial.equal(trial.left(critical, "k"), 1, "left");
}

void classes_keep_the_debt_in_units_under_other_numbers(Trial& trial) {
  struct Row {
    const char* to;
    nanoseconds kept;
    std::int64_t left;
  };
  // Six are owed.
  for (const auto& [to, kept, left] :
       {Row{"20/h burst 10", 0s, 4}, Row{"20/h burst 10", 180s, 3}, Row{"20/h burst 10", 181s, 2},
        Row{"20/h burst 10", 359s, 2}, Row{"20/h burst 10", 720s, 0}, Row{"5/h burst 20", 720s * 7, 7}}) {
    const std::string key = std::string(to) + std::to_string(kept.count());
    trial.ask(trial.limit("10/h", 5), key, 6);
    const Limit other = leaving(trial.limit(to, 5), kept);
    trial.equal(trial.left(other, key), left, "left of " + key);
    const auto more = static_cast<std::uint64_t>(left) + 1;
    trial.expect(!trial.ask(other, key, more).allowed(), "one more does not pass: " + key);
    if (left > 0) trial.equal(trial.ask(other, key, more - 1).remaining, 0, "and that passes: " + key);
  }
}

void a_shadow_check_stops_nobody_and_decides_nothing(Trial& trial) {
  const Limit wide = trial.limit("9/h", 1);
  const Limit narrow = trial.limit("2/h", 2);
  for (const bool first : {true, false}) {
    const std::string key = first ? "a" : "b";
    std::vector<Part> parts = {{wide, key}, {narrow, key, 1, true}};
    if (first) std::swap(parts[0], parts[1]);
    const std::size_t by = first ? 1 : 0;
    for (int i = 0; i < 4; ++i) {
      TestRequest question(parts);
      trial.ask(question);
      trial.expect(question.allowed() && question.charged, "it passes");
      trial.equal(static_cast<std::size_t>(question.by), by, "by");
      trial.equal(question.decision().remaining, 8 - i, "left of what decides");
      trial.expect(question.room[1 - by].decision.allowed() == (i < 2), "what it would have answered");
    }
    trial.equal(trial.left(narrow, key), 0, "left of the shadow's limit");
  }
}

void a_shadow_check_is_charged_only_with_the_request(Trial& trial) {
  const Limit wide = trial.limit("9/h", 1);
  const Limit narrow = trial.limit("2/h", 2);
  TestRequest denied({{narrow, "k", 3}, {wide, "k", 4, true}});
  trial.ask(denied);
  trial.expect(!denied.allowed(), "the request is denied");
  trial.equal(trial.left(wide, "k"), 9, "left of the shadow's limit");
  // What it would have denied is not charged, and given back is what was.
  TestRequest passes({{narrow, "k", 1}, {wide, "k", 10, true}, {wide, "l", 3, true}});
  trial.ask(passes);
  trial.expect(passes.charged, "the request passes");
  trial.equal(trial.left(wide, "k"), 9, "left where it would have denied");
  trial.equal(trial.left(wide, "l"), 6, "left where it would have allowed");
  trial.give_back(passes);
  trial.settle();
  trial.equal(trial.left(wide, "k"), 9, "left where nothing was charged");
  trial.equal(trial.left(wide, "l"), 9, "left where it was");
  trial.equal(trial.left(narrow, "k"), 2, "left of the enforced limit");
}

void a_request_of_shadow_checks_alone_passes(Trial& trial) {
  const Limit narrow = trial.limit("2/h", 2);
  for (int i = 0; i < 4; ++i) {
    TestRequest one({{narrow, "k", 1, true}});
    trial.ask(one);
    trial.expect(one.allowed() && one.charged, "one passes");
    trial.expect(one.decision().allowed() == (i < 2), "and says what it would have answered");
    TestRequest two({{narrow, "a", 1, true}, {narrow, "b", 3, true}});
    trial.ask(two);
    trial.expect(two.allowed(), "two pass");
  }
  for (const char* key : {"k", "a"}) trial.equal(trial.left(narrow, key), 0, "left");
  trial.equal(trial.left(narrow, "b"), 2, "left where it would never have passed");
}

// Parent, guarantee, and the child's own limit, as a limits file has them.
std::vector<Part> inside(const Limit& parent, const Limit& guarantee, const Limit& child, std::string key,
                         std::string_view colocate = {}) {
  return {{guarantee, key, 1, true, Check::kNoGuarantee, colocate},
          {child, key, 1, false, Check::kNoGuarantee, colocate},
          {parent, "", 1, false, 0, colocate}};
}

void a_guaranteed_request_uses_what_others_keep_free(Trial& trial) {
  const Limit parent = leaving(trial.limit("1/h burst 10", 1), 4h);
  const Limit guarantee = trial.limit("1/d burst 3", 2);
  const Limit child = trial.limit("100/h", 3);
  for (int i = 0; i < 6; ++i) trial.expect(trial.ask(parent, "").allowed(), "others fill what is theirs");
  trial.expect(!trial.ask(parent, "").allowed(), "and no more");
  for (int i = 0; i < 4; ++i) {
    TestRequest question(inside(parent, guarantee, child, "a"));
    trial.ask(question);
    trial.equal(question.allowed(), i < 3, "request " + std::to_string(i));
    if (i == 3) trial.equal(static_cast<int>(question.by), 2, "it is the parent that denies it");
    if (i < 3) trial.equal(question.room[2].decision.remaining, 3 - i, "left of the parent, inside");
  }
  trial.equal(trial.left(child, "a"), 97, "left of the child");
  trial.equal(trial.left(guarantee, "a"), 0, "left of the guarantee");
  trial.equal(trial.left(leaving(parent, 0h), ""), 1, "left of the parent");
}

// The child's own limit denies: the guarantee is as it was.
void a_guarantee_is_charged_only_with_the_request(Trial& trial) {
  const Limit parent = leaving(trial.limit("1/h burst 10", 1), 4h);
  const Limit guarantee = trial.limit("1/d burst 3", 2);
  const Limit child = trial.limit("2/d", 3);
  for (const std::string_view colocate : {"", "together"}) {
    const std::string key = colocate.empty() ? "a" : "b";
    const std::int64_t before = trial.left(leaving(parent, 0h), "");
    for (int i = 0; i < 5; ++i) {
      TestRequest question(inside(parent, guarantee, child, key, colocate));
      trial.ask(question);
      trial.equal(question.allowed(), i < 2, "request " + std::to_string(i));
      trial.settle();
    }
    TestRequest look({{guarantee, key, 0, false, Check::kNoGuarantee, colocate}});
    trial.ask(look);
    trial.equal(look.decision().remaining, 1, "left of the guarantee");
    if (colocate.empty()) trial.equal(trial.left(leaving(parent, 0h), ""), before - 2, "left of the parent");
  }
}

void a_guarantee_that_no_check_may_name_is_refused(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  const Limit other = trial.limit("5/h", 2);
  for (const auto& parts : {std::vector<Part>{{limit, "a", 1, false, 0}},
                            {{limit, "a", 1, false, 1}, {other, "a", 1, true}},
                            {{limit, "a", 1, false}, {other, "a", 1, false, 0}},
                            {{limit, "a", 1, true}, {other, "a", 1, false, 1}},
                            {{limit, "a", 1, true}, {other, "a", 1, false, 7}}}) {
    TestRequest question(parts);
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "the request is refused");
    trial.equal(trial.left(limit, "a"), 5, "left");
  }
}

void a_look_tells_what_a_check_would_be_told(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Limit bulk = leaving(limit, 2s);
  const auto look = [&](const Limit& its, std::uint64_t cost) {
    TestRequest question({{its, "k", cost}}, Verb::look);
    trial.ask(question);
    return shown(question.decision());
  };
  for (int again = 0; again < 2; ++again) {
    trial.equal(look(limit, 5), "allowed, 5 of 5 left, reset after 0 ns", "from rest");
    trial.equal(look(limit, 6), "never, 5 of 5 left, reset after 0 ns", "above the burst");
    trial.equal(look(bulk, 4), "never, 3 of 5 left, reset after 0 ns", "above the class's part");
  }
  trial.ask(limit, "k", 2);
  for (int again = 0; again < 2; ++again) {
    trial.equal(look(limit, 3), "allowed, 3 of 5 left, reset after 2000000000 ns", "after 2");
    trial.equal(look(limit, 4), "denied, 3 of 5 left, retry after 1000000000 ns, reset after 2000000000 ns",
                "too much");
    trial.equal(look(bulk, 2), "denied, 1 of 5 left, retry after 1000000000 ns, reset after 2000000000 ns",
                "too much of the class's part");
  }
  trial.equal(trial.left(limit, "k"), 3, "left");
}

void a_look_tells_of_every_algorithm(Trial& trial) {
  for (const char* const text : {"5/s", "5/s algorithm=fixed_window", "5/s algorithm=sliding_window_counter",
                                 "5/s algorithm=sliding_window_log"}) {
    const Limit limit = trial.limit(text, 7);
    if (trial.world.refuses(limit.rule)) continue;
    const std::string key = text;
    Model model;
    for (const std::uint64_t taken : {0U, 2U, 1U, 2U}) {
      const std::vector<Part> charge = {{limit, key, taken}};
      model.ask(charge, trial.world.now());
      trial.ask(limit, key, taken);
      for (std::uint64_t cost = 0; cost < 7; ++cost) {
        TestRequest question({{limit, key, cost}}, Verb::look);
        trial.ask(question);
        expect_told(trial, question, model.ask({{limit, key, cost}}, trial.world.now(), true),
                    key + " after " + std::to_string(taken) + ", " + std::to_string(cost));
      }
      trial.world.advance(150ms);
    }
  }
}

// Classes, shadows, guarantees and looks in any mixture, each told what the model says.
void any_mixture_of_them_is_told_what_the_model_says(Trial& trial) {
  core::Chance random;
  Model model;
  const std::vector<Limit> limits = {trial.limit("5/s burst 8", 1), trial.limit("3/min burst 9", 2),
                                     trial.limit("20/s burst 12", 3),
                                     trial.limit("6/s algorithm=fixed_window", 4)};
  int inside = 0, passed = 0;
  for (int step = 0; step < 500; ++step) {
    std::vector<Part> parts;
    const std::size_t size = 1 + random() % 5;
    while (parts.size() < size) {
      const std::size_t which = random() % limits.size();
      Limit limit = limits[which];
      if (trial.world.spreads() && !core::can_give_back(limit.rule.algorithm)) continue;
      const std::string key = std::to_string(10 * which + random() % 3);
      const auto same = [&](const Part& part) { return part.key == key; };
      if (std::any_of(parts.begin(), parts.end(), same)) continue;
      if (limit.rule.algorithm == Algorithm::gcra) {
        const nanoseconds full = limit.rule.quota.emission_interval() * limit.rule.quota.burst();
        if (random() % 2 == 0) limit.rule.kept = full * (random() % 4) / 4 + nanoseconds{random() % 3};
      }
      Part part{limit, key, random() % 4, random() % 3 == 0};
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].shadow && random() % 2 == 0) part.inside = static_cast<std::uint8_t>(i);
      }
      inside += part.inside != Check::kNoGuarantee ? 1 : 0;
      parts.push_back(part);
    }
    const bool look = random() % 4 == 0;
    TestRequest question(parts, look ? Verb::look : Verb::check);
    trial.ask(question);
    trial.settle();
    expect_told(trial, question, model.ask(parts, trial.world.now(), look), "step " + std::to_string(step));
    passed += question.allowed() ? 1 : 0;
    if (!trial.violations.empty()) return;
    if (random() % 3 == 0) trial.world.advance(milliseconds{random() % 1500});
  }
  trial.expect(inside > 50 && passed > 50 && passed < 450, "there was something to see");
}

}  // namespace

std::vector<Property> class_properties() {
  return {
      {"a_class_leaves_its_part_of_the_burst_free", a_class_leaves_its_part_of_the_burst_free},
      {"a_denial_of_a_class_denies_no_more_important_one", a_denial_of_a_class_denies_no_more_important_one},
      {"classes_keep_the_debt_in_units_under_other_numbers",
       classes_keep_the_debt_in_units_under_other_numbers},
      {"a_shadow_check_stops_nobody_and_decides_nothing", a_shadow_check_stops_nobody_and_decides_nothing},
      {"a_shadow_check_is_charged_only_with_the_request", a_shadow_check_is_charged_only_with_the_request},
      {"a_request_of_shadow_checks_alone_passes", a_request_of_shadow_checks_alone_passes},
      {"a_guaranteed_request_uses_what_others_keep_free", a_guaranteed_request_uses_what_others_keep_free},
      {"a_guarantee_is_charged_only_with_the_request", a_guarantee_is_charged_only_with_the_request},
      {"a_guarantee_that_no_check_may_name_is_refused", a_guarantee_that_no_check_may_name_is_refused},
      {"a_look_tells_what_a_check_would_be_told", a_look_tells_what_a_check_would_be_told},
      {"a_look_tells_of_every_algorithm", a_look_tells_of_every_algorithm},
      {"any_mixture_of_them_is_told_what_the_model_says", any_mixture_of_them_is_told_what_the_model_says}};
}

}  // namespace weir::store::conformance
