// weir's own scripts, as they ship, beside weir's own store.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "engine/side_by_side.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using store::Limit;
using store::Verb;
using namespace std::chrono_literals;

Outcome gcra(Bench& bench) {
  SideBySide both(bench);
  const Limit& limit = both.limit("7/3s burst 5");
  for (int i = 0; i < 7; ++i) {
    both.check(limit, "gcra");
    both.advance(61ms);
  }
  both.check(limit, "gcra", 0);
  both.advance(900ms);
  both.check(limit, "gcra", 2);
  both.check(limit, "gcra", 6);
  both.check(limit, "gcra", 5);
  both.advance(3s);
  both.check(limit, "gcra", 5);
  // A debt of more than 2^53 ns in units, and a T of 2^53 ns and more.
  const Limit& fine = both.limit("1000000000/s burst 9000000000");
  both.check(fine, "gcra-fine", 8'999'999'999);
  both.check(fine, "gcra-fine", 1);
  both.check(fine, "gcra-fine", 1);
  return both.outcome();
}

Outcome other_numbers(Bench& bench) {
  SideBySide both(bench);
  const Limit& fast = both.limit("10/s burst 10");
  const Limit& slow = both.limit("3/s burst 6");
  both.check(fast, "numbers", 4);
  both.check(slow, "numbers", 1);
  both.advance(50ms);
  both.check(slow, "numbers", 3);
  both.check(fast, "numbers", 3);
  both.advance(170ms);
  both.check(fast, "numbers", 8);
  both.check(fast, "numbers", 1);
  return both.outcome();
}

Outcome several(Bench& bench) {
  SideBySide both(bench);
  const Limit& second = both.limit("2/s burst 3");
  const Limit& window = both.limit("4/10s algorithm=fixed_window");
  for (int i = 0; i < 5; ++i) {
    both.ask(Verb::check, {{&second, "several-a"}, {&window, "several-b"}});
    both.advance(130ms);
  }
  both.ask(Verb::look, {{&second, "several-a", 2}, {&window, "several-b", 1}});
  both.ask(Verb::check, {{&second, "several-a", 1, true}, {&window, "several-b"}});
  both.advance(1s);
  both.ask(Verb::check, {{&second, "several-a", 3, true}, {&window, "several-b", 1}});
  both.ask(Verb::check, {{&second, "several-a", 1}, {&window, "several-b", 1}});
  return both.outcome();
}

Outcome together(Bench& bench) {
  SideBySide both(bench);
  Limit& limit = both.limit("5/s burst 6");
  limit.sharing.merge = true;
  both.check_at_once(limit, "merged", 5);
  both.check_at_once(limit, "merged", 4);
  both.advance(450ms);
  both.check_at_once(limit, "merged", 4);
  return both.outcome();
}

Outcome give_back(Bench& bench) {
  SideBySide both(bench);
  const Limit& limit = both.limit("4/s burst 8");
  both.check(limit, "back", 3);
  both.check_and_give_back(limit, "back", 4, 300ms);
  both.check(limit, "back", 4);
  both.check(limit, "back", 4);
  return both.outcome();
}

Outcome windows(Bench& bench, const std::string& rule, const std::string& key) {
  SideBySide both(bench);
  const Limit& limit = both.limit(rule);
  for (int i = 0; i < 12; ++i) {
    both.check(limit, key, static_cast<std::uint64_t>(1 + i % 3));
    both.advance(470ms);
  }
  both.check(limit, key, 0);
  both.check(limit, key, 9);
  return both.outcome();
}

Outcome fixed_window(Bench& bench) { return windows(bench, "7/2s algorithm=fixed_window", "fixed"); }
Outcome fixed_window_clock(Bench& bench) {
  return windows(bench, "7/2s algorithm=fixed_window align=clock", "clock");
}
Outcome counter(Bench& bench) { return windows(bench, "7/2s algorithm=sliding_window_counter", "counter"); }

Outcome log(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench);
  const Limit& limit = both.limit("7/2s algorithm=sliding_window_log");
  for (int i = 0; i < 14; ++i) {
    both.check_log(limit, "log", static_cast<std::uint64_t>(1 + i % 3));
    both.advance(310ms);
  }
  return both.outcome();
}

Outcome calendar(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench, true);
  const Limit& limit = both.limit("5/hour align=calendar");
  for (int i = 0; i < 4; ++i) both.check(limit, "calendar", 2);
  both.charge({{&limit, "calendar", 3}}, Cost{3});
  both.check(limit, "calendar", 0);
  return both.outcome();
}

Outcome take(Bench& bench) {
  SideBySide both(bench);
  const Limit& fast = both.limit("10/s burst 9");
  const Limit& window = both.limit("20/5s algorithm=fixed_window");
  both.take({{&fast, "take-a", 1}, {&window, "take-b", 3}}, 1, 100);
  both.take({{&fast, "take-a", 1}}, 2, 2);
  both.take({{&fast, "take-a", 1}}, 2, 50);
  both.advance(300ms);
  both.take({{&fast, "take-a", 1}}, 1, 50);
  both.take({{&window, "take-b", 1}}, 3, 50);
  return both.outcome();
}

Outcome charge(Bench& bench) {
  SideBySide both(bench, bench.can_expire_lists);
  const Limit& limit = both.limit("5/s burst 5");
  both.check(limit, "charge", 2);
  both.charge({{&limit, "charge", 9}}, Cost{9});
  both.check(limit, "charge");
  both.advance(1s);
  both.charge({{&limit, "charge"}}, Remaining{2});
  both.charge({{&limit, "charge", 40}}, Outside{Outside::Form::cost, 40, 2s});
  if (bench.can_expire_lists)
    both.charge({{&limit, "charge", 3}}, Outside{Outside::Form::refund, 3, std::chrono::nanoseconds{0}});
  both.check(limit, "charge", 0);
  return both.outcome();
}

Outcome pause(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench, true);
  Limit& limit = both.limit("1/s burst 2");
  both.check(limit, "pause", 2);
  const std::size_t waits = both.reserve({{&limit, "pause"}}, 10s);
  both.charge({{&limit, "pause"}}, Pause{4s});
  both.undo(Verb::moment, waits);
  both.advance(3s);
  both.check(limit, "pause");
  both.advance(1s);
  both.undo(Verb::moment, waits);
  both.check(limit, "pause", 0);
  Limit& strict = both.limit("2/s burst 1");
  strict.penalty = {.time = 3s};
  both.check(strict, "penalty");
  both.check(strict, "penalty");
  both.advance(1s);
  both.check(strict, "penalty");
  both.advance(2s);
  both.check(strict, "penalty");
  for (const char* const rule : {"1/s burst 2", "2/min algorithm=fixed_window"}) {
    Limit& forgets = both.limit(rule);
    both.check(forgets, rule, 2);
    both.charge({{&forgets, rule}}, Pause{4s, true});
    both.advance(3s);
    both.check(forgets, rule);
    both.advance(1s);
    both.check(forgets, rule, 2);
  }
  return both.outcome();
}

Outcome reserve(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench, true);
  const Limit& limit = both.limit("4/s burst 2");
  const Limit& other = both.limit("3/s burst 3");
  both.reserve({{&limit, "line"}}, 5s);
  both.reserve({{&limit, "line"}, {&other, "line-b"}}, 5s);
  const std::size_t third = both.reserve({{&limit, "line", 2}}, 5s);
  const std::size_t fourth = both.reserve({{&limit, "line", 1}, {&other, "line-b", 3}}, 5s);
  both.reserve({{&limit, "line", 1}}, 10ms);
  both.undo(Verb::moment, third);
  both.undo(Verb::cancel, third);
  both.undo(Verb::cancel, third);
  both.reserve({{&limit, "line", 1}}, 5s);
  both.advance(400ms);
  both.undo(Verb::moment, fourth);
  both.check(limit, "line");
  both.undo(Verb::cancel, fourth);
  both.reserve({{&limit, "line", 2}}, 5s);
  return both.outcome();
}

Outcome settle(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench, true);
  const Limit& limit = both.limit("10/s burst 20");
  const std::size_t first = both.reserve({{&limit, "hold", 8}}, 0s, 5s);
  const std::size_t second = both.reserve({{&limit, "hold", 8}}, 0s, 5s);
  both.advance(200ms);
  both.undo(Verb::settle, first, 0s, 3);
  both.check(limit, "hold", 6);
  both.undo(Verb::extend, second, 10s);
  both.advance(6s);
  both.undo(Verb::settle, second, 0s, 15);
  both.undo(Verb::settle, second, 0s, 15);
  both.check(limit, "hold", 6);
  return both.outcome();
}

Outcome slots(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  SideBySide both(bench, true);
  const Limit& limit = both.limit("in_flight=2");
  const std::size_t first = both.reserve({{&limit, "slots"}}, 0s, 2s);
  both.advance(300ms);
  const std::size_t second = both.reserve({{&limit, "slots"}}, 0s, 4s);
  both.reserve({{&limit, "slots"}}, 0s, 4s);
  both.undo(Verb::settle, first);
  both.reserve({{&limit, "slots"}}, 0s, 1s);
  both.undo(Verb::extend, second, 8s);
  both.advance(1s);
  both.reserve({{&limit, "slots"}}, 0s, 1s);
  both.reserve({{&limit, "slots"}}, 0s, 1s);
  both.ask(Verb::look, {{&limit, "slots"}});
  return both.outcome();
}

// What lies beside the keys that are asked for stays as it is.
Outcome reset(Bench& bench) {
  const std::array<std::string, 3> bystanders = {bench.key("reset-"), bench.key("reset-a-b"),
                                                 bench.key("rese")};
  for (const std::string& each : bystanders) bench.expect({"SET", each, "not a limit", "PX", "50000"});
  SideBySide both(bench);
  const Limit& limit = both.limit("5/s burst 5");
  both.check(limit, "reset-a", 4);
  both.check(limit, "reset-b", 4);
  both.ask(Verb::reset, {{&limit, "reset-a"}, {&limit, "reset-c"}});
  both.check(limit, "reset-a", 4);
  both.check(limit, "reset-b", 4);
  for (const std::string& each : bystanders) {
    if (const Value got = bench.expect({"GET", each}); got.text != "not a limit")
      return fails("a key beside those of weir was 'not a limit' and is " + bench.shown(got));
  }
  return both.outcome();
}

Outcome foreign(Bench& bench) {
  SideBySide both(bench);
  const Limit& limit = both.limit("5/s burst 5");
  const std::string text = bench.key("foreign");
  bench.expect({"SET", text, "hello", "PX", "50000"});
  if (const std::string why = both.fault_of(limit, "foreign"); why.find("WRONGTYPE") == std::string::npos)
    return fails("a check of a key under which a text lies was answered " + why);
  if (const Value got = bench.expect({"GET", text}); got.text != "hello")
    return fails("the text 'hello' under a key that was checked is now " + bench.shown(got));
  if (!bench.can_expire_lists) return holds("WRONGTYPE, and the text stays");
  const std::string list = bench.key("foreign-list");
  bench.expect({"RPUSH", list, "hello"});
  bench.expect({"PEXPIREAT", list, bench.milliseconds_from_now(50'000)});
  if (const std::string why = both.fault_of(limit, "foreign-list");
      why.find("WRONGTYPE") == std::string::npos)
    return fails("a check of a key under which a list lies was answered " + why);
  if (const Value got = bench.expect({"LINDEX", list, "0"}); got.text != "hello")
    return fails("the list under a key that was checked now begins with " + bench.shown(got));
  return holds("WRONGTYPE, and what lies there stays");
}

}  // namespace

std::span<const EngineCase> weir_script_cases() {
  constexpr std::string_view kAlike = "the decisions of weir's own store, to the nanosecond";
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"check-gcra", kAlike, gcra},
      {"check-other-numbers", kAlike, other_numbers},
      {"check-several", kAlike, several},
      {"check-merged", kAlike, together},
      {"check-give-back", kAlike, give_back},
      {"check-fixed-window", kAlike, fixed_window},
      {"check-fixed-window-clock", kAlike, fixed_window_clock},
      {"check-window-counter", kAlike, counter},
      {"check-window-log", kAlike, log},
      {"check-calendar", kAlike, calendar},
      {"take", kAlike, take},
      {"charge", kAlike, charge},
      {"reserve", kAlike, reserve},
      {"reserve-settle", kAlike, settle},
      {"reserve-pause", kAlike, pause},
      {"reserve-slots", kAlike, slots},
      {"reset", "keys that are forgotten when they are named, and no others", reset},
      {"foreign", "WRONGTYPE for what is not weir's, which stays as it is", foreign},
  });
  return kCases;
}

}  // namespace weir::engine
