// Which checks mean the same state: those of one limit's id and one key, whatever its numbers.
#include "conformance/model.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

void limits_of_one_key_have_separate_states(Trial& trial) {
  std::vector<Limit> limits;
  for (const std::uint64_t id : {1ULL, 2ULL, 11ULL, 257ULL, 65'537ULL, 16'777'217ULL, ~0ULL >> 8, 0ULL})
    limits.push_back(trial.limit("9/h", id));
  for (std::size_t i = 0; i < limits.size(); ++i) {
    trial.ask(limits[i], "key", 1 + i);
    for (std::size_t j = 0; j < limits.size(); ++j)
      trial.equal(trial.left(limits[j], "key"), j <= i ? 8 - static_cast<std::int64_t>(j) : 9, "left");
  }
  TestRequest together({{limits[0], "key", 2}, {limits[1], "key", 1}});
  trial.ask(together);
  trial.expect(together.charged, "both limits of the key are charged");
  trial.equal(trial.left(limits[0], "key"), 6, "left of the first limit");
  trial.equal(trial.left(limits[1], "key"), 6, "left of the second limit");
}

void a_limit_is_known_by_its_id(Trial& trial) {
  trial.ask(trial.limit("5/h", 9), "key", 2);
  const Limit other = trial.limit("5/h", 9);
  trial.equal(trial.left(other, "key"), 3, "left by the same limit from another place");
}

void a_key_is_any_bytes(Trial& trial) {
  using namespace std::string_literals;
  const std::string keys[] = {"",
                              "a",
                              "b",
                              "\0"s,
                              "\0\0"s,
                              "a\0b"s,
                              "a\0c"s,
                              "\r\n$1\r\n",
                              "{a}b",
                              "{a}c",
                              "{}",
                              "{b",
                              "\xff",
                              "1:a",
                              std::string(1000, 'x'),
                              std::string(1001, 'x')};
  const Limit one = trial.limit("5/h", 1);
  for (const std::string& key : keys) trial.equal(trial.ask(one, key).remaining, 4, "left of " + key);
  // What two ids and two keys come to when they are written one after the other.
  const Limit many = trial.limit("5/h", 11);
  trial.equal(trial.ask(one, "1:k").remaining, 4, "left of 1, 1:k");
  trial.equal(trial.ask(many, ":k").remaining, 4, "left of 11, :k");
  trial.equal(trial.ask(one, "1k").remaining, 4, "left of 1, 1k");
  trial.equal(trial.ask(many, "k").remaining, 4, "left of 11, k");
}

// Six of ten are used, then the numbers change.
void changed_numbers_keep_the_debt_in_units(Trial& trial) {
  struct Row {
    const char* to;
    std::int64_t left;
  };
  const Row rows[] = {{"10/h", 4},         {"20/h burst 10", 4},  {"10/h burst 20", 14},
                      {"10/h burst 7", 1}, {"5/h burst 10", 4},   {"10/h burst 5", 0},
                      {"5/h burst 5", 0},  {"1000/s burst 8", 2}, {"1/d burst 1000", 994}};
  for (const auto& [to, left] : rows) {
    Model model;
    const auto both_say = [&](const char* text, std::uint64_t cost, const char* when) {
      const std::vector<Part> parts = {{trial.limit(text, 5), to, cost}};
      const Decision should = model.ask(parts, trial.world.now())[0];
      const Decision is = trial.ask(parts[0].limit, to, cost);
      trial.equal(shown(is), shown(should), std::string(to) + " " + when);
      return is;
    };
    both_say("10/h", 6, "before");
    trial.equal(both_say(to, 0, "looked at").remaining, left, std::string(to) + ": left");
    both_say(to, 1, "asked");
    both_say(to, 5, "asked for much");
    trial.world.advance(1s);
    both_say(to, 1, "a second later");
    both_say("10/h", 0, "and as before");
  }
}

// What another quota of the key is told, and does not admit, leaves no trace: neither a denial, nor a look,
// nor what can never pass, alone or with a check that passes.
void what_is_not_admitted_changes_nothing_for_other_numbers(Trial& trial) {
  const Limit narrow = trial.limit("1/h", 5);
  const Limit wide = trial.limit("1000/s", 5);
  const Limit beside = trial.limit("1000/h", 6);
  for (const std::uint64_t cost : {1000U, 0U, 1001U}) {
    const std::string key = std::to_string(cost);
    const nanoseconds start = trial.world.now();
    trial.expect(trial.ask(narrow, key).allowed(), "the narrow one admits one");
    for (int i = 0; i < 20; ++i) {
      trial.world.advance(10ms);
      const Decision refused = trial.ask(wide, key, cost);
      trial.expect(cost == 0 || !refused.allowed(), "the wide one has no room");
      TestRequest both({{wide, key, cost == 0 ? 1000 : cost}, {beside, key, 1}});
      trial.ask(both);
      trial.expect(!both.charged, "nor beside another");
      trial.expect(trial.ask(narrow, key).verdict == Verdict::denied, "and the narrow one's debt stays");
    }
    const Decision last = trial.ask(narrow, key);
    trial.expect(last.retry_after == 1h - (trial.world.now() - start), "as long as it was: " + shown(last));
    trial.equal(trial.left(beside, key), 1000, "left beside it");
  }
}

// Two checks of one limit and key would have to be decided one after the other, and then cannot be told
// alone.
void one_key_twice_in_a_request_is_refused(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  const Limit other = trial.limit("5/h", 2);
  const Limit again = trial.limit("7/d", 1);
  for (const auto& parts : {std::vector<Part>{{limit, "a"}, {limit, "a"}},
                            {{limit, "a"}, {limit, "b"}, {other, "a"}, {limit, "a", 0}},
                            {{other, "a"}, {limit, "b"}, {again, "b"}}}) {
    TestRequest question(parts);
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "a request that names a state twice is refused");
    for (const Part& part : parts)
      trial.equal(trial.left(part.limit, part.key), part.limit.rule.quota.burst(), "left");
  }
}

}  // namespace

std::vector<Property> identity_properties() {
  return {{"limits_of_one_key_have_separate_states", limits_of_one_key_have_separate_states},
          {"a_limit_is_known_by_its_id", a_limit_is_known_by_its_id},
          {"a_key_is_any_bytes", a_key_is_any_bytes},
          {"changed_numbers_keep_the_debt_in_units", changed_numbers_keep_the_debt_in_units},
          {"what_is_not_admitted_changes_nothing_for_other_numbers",
           what_is_not_admitted_changes_nothing_for_other_numbers},
          {"one_key_twice_in_a_request_is_refused", one_key_twice_in_a_request_is_refused}};
}

}  // namespace weir::store::conformance
