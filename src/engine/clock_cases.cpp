// The engine's clock, by which every limit is decided.
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "engine/bench.hpp"
#include "engine/cases.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using std::chrono::microseconds;
using namespace std::chrono_literals;

const std::string kTimeScript = "return redis.call('TIME')";

// s and us, at that place of an array.
microseconds time_in(Bench& bench, const Value& said, std::size_t at = 0) {
  const auto number = [&](std::size_t i) {
    return said.items.size() > i ? core::parse_integer(said.items[i].text) : std::nullopt;
  };
  const auto s = number(at);
  const auto us = number(at + 1);
  if (!s || !us || *us < 0 || *us > 999'999 || *s < 0 || *s > 9'000'000'000)
    throw Seen("TIME was answered " + bench.shown(said));
  return std::chrono::seconds{*s} + microseconds{*us};
}

std::string text_of(microseconds time) {
  return std::to_string(time.count() / 1'000'000) + "." +
         std::to_string(1'000'000 + time.count() % 1'000'000).substr(1) + " s";
}

Outcome form(Bench& bench) {
  const microseconds now = bench.time();
  // The scripts read ten digits of seconds.
  if (now < 1'000'000'000s || now >= 10'000'000'000s)
    return fails("TIME says " + text_of(now) + " since 1970");
  return holds("seconds and microseconds");
}

Outcome moves(Bench& bench) {
  const microseconds first = time_in(bench, bench.run(kTimeScript, {}));
  for (int tries = 0; tries < 20; ++tries) {
    std::this_thread::sleep_for(5ms);
    const microseconds then = time_in(bench, bench.run(kTimeScript, {}));
    if (then < first) return fails("it went from " + text_of(first) + " to " + text_of(then));
    if (then - first >= 1ms) return holds("it moves");
  }
  return fails("TIME in a script said " + text_of(first) + " for 100 ms");
}

// Read in scripts and outside of them, in turn, in one write.
Outcome goes_forward(Bench& bench) {
  constexpr int kMany = 200;
  std::vector<CommandWords> commands;
  for (int i = 0; i < kMany; ++i) {
    commands.push_back(bench.call_of(kTimeScript, {}));
    commands.push_back({"TIME"});
  }
  bench.send(commands);
  microseconds last{0};
  std::string wrong;
  for (int i = 0; i < 2 * kMany; ++i) {
    const microseconds now = time_in(bench, bench.receive().value);
    if (now < last && wrong.empty())
      wrong = std::string(i % 2 == 0 ? "a script" : "TIME after a script") + " read " +
              core::to_text(last - now) + " less than what was read before";
    last = now;
  }
  return wrong.empty() ? holds(std::to_string(2 * kMany) + " readings, in scripts and outside, in order")
                       : fails(wrong);
}

Outcome same_in_scripts(Bench& bench) {
  const microseconds before = bench.time();
  const microseconds inside = time_in(bench, bench.run(kTimeScript, {}));
  const microseconds after = bench.time();
  if (inside + 1ms < before || inside > after + 1ms)
    return fails("TIME said " + text_of(before) + " and " + text_of(after) + ", a script between them " +
                 text_of(inside));
  return holds("TIME in a script is TIME outside");
}

Outcome within_a_script(Bench& bench) {
  const Value said = bench.run(
      "local a = redis.call('TIME') local x = 0 for i = 1, 200000 do x = x + i end "
      "local b = redis.call('TIME') return {a[1], a[2], b[1], b[2]}",
      {});
  const microseconds first = time_in(bench, said);
  const microseconds last = time_in(bench, said, 2);
  if (last < first) return fails("within a script it went back by " + core::to_text(first - last));
  return holds(last == first ? "it stands still within a script; weir reads it once"
                             : "it moves within a script; weir reads it once");
}

Outcome write_after_time(Bench& bench) {
  const Value said = bench.run(
      "local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1], 'PXAT', string.format('%d', t[1] * 1000 "
      "+ 30000)) "
      "return {t[1], redis.call('GET', KEYS[1])}",
      {bench.key("after-time")});
  if (said.items.size() != 2 || said.items[0].text.empty() || said.items[0].text != said.items[1].text)
    return fails("a script that reads TIME and then writes was answered " + bench.shown(said));
  return holds("a script that has read TIME may write");
}

Outcome near_ours(Bench& bench) {
  const auto ours = [] {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const microseconds before = ours();
  const microseconds theirs = bench.time();
  const microseconds after = ours();
  const microseconds off = theirs < before ? theirs - before : theirs > after ? theirs - after : 0us;
  if (off < 1s && off > -1s) return holds("within a second of this machine's clock");
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(off < 0us ? -off : off);
  return note(core::to_text(whole) + (off < 0us ? " less than" : " more than") +
              " this machine's clock says; limits go by the engine's");
}

}  // namespace

std::span<const EngineCase> clock_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"time", "TIME as seconds and microseconds since 1970, between 2001 and 2286", form, true},
      {"time-moves", "a clock that moves", moves, true},
      {"time-forward", "a clock that does not step back", goes_forward},
      {"time-in-script", "the same clock in scripts and outside", same_in_scripts, true},
      {"time-within-script",
       "a clock that does not step back within a script; that it stands still is not needed",
       within_a_script},
      {"time-write",
       "scripts that may write after TIME, and the replication of their writes (Redis 5 or later)",
       write_after_time},
      {"time-near", "nothing of this machine's clock", near_ours},
  });
  return kCases;
}

}  // namespace weir::engine
