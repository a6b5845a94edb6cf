// Forgetting what was charged to keys.
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

void a_reset_key_is_as_if_never_used(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  const Limit other = trial.limit("5/h", 2);
  trial.ask(limit, "key", 5);
  trial.ask(other, "key", 3);
  trial.expect(!trial.ask(limit, "key").allowed(), "used up");
  trial.equal(trial.reset({{limit, "key"}}), std::uint64_t{1}, "forgotten");
  const Decision look = trial.ask(limit, "key", 0);
  trial.equal(look.remaining, 5, "left");
  trial.equal(look.reset_after.count(), 0, "reset_after");
  trial.equal(trial.left(other, "key"), 2, "left by another limit of the key");
  trial.equal(trial.reset({{limit, "key"}}), std::uint64_t{0}, "forgotten the second time");
}

void an_unknown_key_has_nothing_to_forget(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  trial.equal(trial.reset({{limit, "key"}}), std::uint64_t{0}, "forgotten");
  trial.ask(limit, "key", 0);
  trial.ask(limit, "key", 6);
  trial.equal(trial.reset({{limit, "key"}}), std::uint64_t{0}, "forgotten after a look and a never");
}

void a_reset_of_many_keys_counts_those_that_had_something(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  for (const std::size_t size : {2U, 16U, 17U, 300U}) {
    std::vector<Part> parts;
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < size; ++i) {
      parts.push_back({limit, std::to_string(size) + ":" + std::to_string(i)});
      if (i % 3 == 1) continue;
      trial.ask(limit, parts.back().key, 1 + i % 5);
      ++used;
    }
    trial.equal(trial.reset(parts), used, "forgotten of " + std::to_string(size));
    for (const Part& part : parts) trial.equal(trial.left(limit, part.key), 5, "left of " + part.key);
  }
}

void a_reset_keeps_its_place_among_the_checks(Trial& trial) {
  if (!trial.world.keeps_order_of_several()) {
    trial.skipped = "a reset overtakes the checks that wait to be merged";
    return;
  }
  const Limit limit = trial.limit("2/h", 1);
  TestRequest before(limit, "key", 2);
  TestRequest denied(limit, "key", 1);
  TestRequest reset({{limit, "key"}}, Verb::reset);
  TestRequest after(limit, "key", 1);
  trial.submit({&before, &denied, &reset, &after});
  trial.settle();
  trial.expect(before.allowed() && !denied.allowed(), "before the reset the key is used up");
  trial.equal(reset.forgotten, std::uint64_t{1}, "forgotten");
  trial.equal(after.decision().remaining, 1, "left after the reset");
}

void every_algorithm_can_be_reset(Trial& trial) {
  for (const char* const text :
       {"5/h algorithm=fixed_window", "5/h algorithm=fixed_window align=clock",
        "5/h algorithm=sliding_window_log", "5/h algorithm=sliding_window_counter"}) {
    const Limit limit = trial.limit(text, 1);
    if (trial.world.refuses(limit.rule)) continue;
    trial.ask(limit, text, 5);
    trial.equal(trial.reset({{limit, text}}), std::uint64_t{1}, "forgotten");
    trial.equal(trial.left(limit, text), 5, std::string("left of ") + text);
  }
}

// A key without a limit says nothing of what it is counted by.
void a_key_alone_is_reset_whatever_it_is_counted_by(Trial& trial) {
  const Limit nameless = trial.limit("1/s");
  for (const char* const text :
       {"5/h", "5/h algorithm=fixed_window", "5/h algorithm=fixed_window align=clock",
        "5/h algorithm=sliding_window_counter"}) {
    const Limit limit = trial.limit(text);
    if (trial.world.refuses(limit.rule)) continue;
    trial.ask(limit, text, 5);
    trial.equal(trial.reset({{nameless, text}}), std::uint64_t{1}, std::string("forgotten of ") + text);
    trial.equal(trial.left(limit, text), 5, std::string("left of ") + text);
    trial.equal(trial.reset({{nameless, text}}), std::uint64_t{0}, "and nothing the second time");
  }
}

}  // namespace

std::vector<Property> reset_properties() {
  return {{"a_reset_key_is_as_if_never_used", a_reset_key_is_as_if_never_used},
          {"an_unknown_key_has_nothing_to_forget", an_unknown_key_has_nothing_to_forget},
          {"a_reset_of_many_keys_counts_those_that_had_something",
           a_reset_of_many_keys_counts_those_that_had_something},
          {"a_reset_keeps_its_place_among_the_checks", a_reset_keeps_its_place_among_the_checks},
          {"every_algorithm_can_be_reset", every_algorithm_can_be_reset},
          {"a_key_alone_is_reset_whatever_it_is_counted_by", a_key_alone_is_reset_whatever_it_is_counted_by}};
}

}  // namespace weir::store::conformance
