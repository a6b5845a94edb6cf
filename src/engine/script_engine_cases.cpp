// What runs scripts: Lua's numbers and texts, how scripts are named, what errors are called, and that nobody
// comes between a script's commands.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "redis/charge_script.hpp"
#include "redis/reserve_script.hpp"
#include "redis/script.hpp"
#include "redis/take_script.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using Type = resp::Value::Type;

// Each a piece of Lua that gives a text, and the text that it has to give.
struct Piece {
  std::string_view lua;
  std::string_view gives;
};

Outcome same_texts(Bench& bench, std::span<const Piece> pieces, const CommandWords& arguments,
                   const std::string& what) {
  std::string script = "return {";
  for (const Piece& each : pieces) script += std::string(each.lua) + ", ";
  const Value said = bench.run(script + "'end'}", {}, arguments);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i >= said.items.size() || said.items[i].text != pieces[i].gives)
      return fails(std::string(pieces[i].lua) + " is " +
                   (i < said.items.size() ? bench.shown(said.items[i]) : "nothing") + " and not '" +
                   std::string(pieces[i].gives) + "'");
  }
  return holds(std::to_string(pieces.size()) + " " + what);
}

Outcome numbers(Bench& bench) {
  static constexpr auto kPieces = std::to_array<Piece>({
      {"string.format('%d', ARGV[1] + 0)", "9007199254740991"},
      {"string.format('%d', ARGV[1] + 1)", "9007199254740992"},
      {"string.format('%d', 9e15)", "9000000000000000"},
      {"string.format('%d', math.floor(9e15 / 7))", "1285714285714285"},
      {"string.format('%d', (ARGV[1] + 0) % 1e9)", "254740991"},
      {"string.format('%d', ARGV[2] * 1000 + math.ceil(1 / 1e6))", "4102444800001"},
      {"string.format('%d', tonumber('000000042') * 1000)", "42000"},
      {"string.format('%d', '000000042' + 0)", "42"},
      {"string.format('%d', math.floor(-7 / 2))", "-4"},
      {"string.format('%.1f', 7 / 2)", "3.5"},
  });
  return same_texts(bench, kPieces, {"9007199254740991", "4102444800"},
                    "sums and quotients up to 2^53 are exact");
}

Outcome formats(Bench& bench) {
  static constexpr auto kPieces = std::to_array<Piece>({
      {"string.format('weir1g %d%09d ', 1700000000, 7) .. ARGV[1]", "weir1g 1700000000000000007 20000000"},
      {"(select(2, string.match('weir1g 1700000000000000007 20', "
       "'^weir1g (%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d) (%d+)$')))",
       "000000007"},
      {"tostring(string.match('hello', '^weir1g (%d+) (%d+)$'))", "nil"},
      {"string.sub('1700000000000000007', 1, -10)", "1700000000"},
      {"string.match('a b', '^(%S+) ') .. string.match('burst 5 gcra', 'burst (%d+) ')", "a5"},
      {"tostring((string.find('-WRONGTYPE x', 'WRONGTYPE', 1, true)))", "2"},
      {"table.remove(ARGV, 1) .. ARGV[1]", "20000000second"},
  });
  return same_texts(bench, kPieces, {"20000000", "second"}, "patterns and formats as Lua 5.1 has them");
}

Outcome replies(Bench& bench) {
  const Value said =
      bench.run("return {1, math.floor(9e15), -1, false, '007', {2, 'x'}, math.floor(7 / 2)}", {});
  const std::string seen = bench.shown(said);
  return seen == "[1, 9000000000000000, -1, null, '007', [2, 'x'], 3]" ? holds("a table came whole: " + seen)
                                                                       : fails("a table came as " + seen);
}

Outcome many_arguments(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  const Value said = bench.run(
      "local unpack = table.unpack or unpack local t = {} for i = 1, 1000 do t[i] = 'v' end "
      "redis.call('RPUSH', KEYS[1], unpack(t)) "
      "redis.call('PEXPIREAT', KEYS[1], ARGV[1]) return #redis.call('LRANGE', KEYS[1], 0, 999)",
      {bench.key("unpack")}, {bench.milliseconds_from_now(30'000)});
  return said.integer == 1000 ? holds("unpack and a command of 1,002 words")
                              : fails("1,000 entries that a script wrote and read were " + bench.shown(said));
}

struct Script {
  std::string_view file;
  std::string_view text;
  const std::string& name;
};

Outcome load(Bench& bench) {
  const std::array scripts = {Script{"check.lua", redis::check_script(), redis::check_sha()},
                              Script{"take.lua", redis::take_script(), redis::take_sha()},
                              Script{"charge.lua", redis::charge_script(), redis::charge_sha()},
                              Script{"reserve.lua", redis::reserve_script(), redis::reserve_sha()}};
  for (const Script& each : scripts) {
    const Value said = bench.ask({"SCRIPT", "LOAD", std::string(each.text)});
    if (said.text != each.name)
      return fails("SCRIPT LOAD of " + std::string(each.file) + " (" + std::to_string(each.text.size()) +
                   " bytes) was answered " + bench.shown(said));
  }
  return holds("weir's four scripts are loaded, each under its SHA-1");
}

bool begins_with_word(const Value& said, std::string_view word) {
  return said.type == Type::error && said.text.substr(0, said.text.find(' ')) == word;
}

Outcome unknown_script(Bench& bench) {
  // Of no text that anybody loads.
  const std::string name = redis::sha_of(bench.prefix());
  const Value said = bench.ask({"EVALSHA", name, "0"});
  if (!begins_with_word(said, "NOSCRIPT"))
    return fails("EVALSHA of an unknown script was answered " + bench.shown(said));
  const Value known = bench.run("return 'known'", {});
  return known.text == "known" ? holds("NOSCRIPT, and after SCRIPT LOAD the script runs")
                               : fails("after SCRIPT LOAD a script was answered " + bench.shown(known));
}

Outcome wrong_type(Bench& bench) {
  const std::string key = bench.key("wrong-type");
  bench.expect({"SET", key, "v", "PX", "30000"});
  const Value said = bench.ask({"LINDEX", key, "0"});
  if (!begins_with_word(said, "WRONGTYPE"))
    return fails("LINDEX of a text was answered " + bench.shown(said));
  const std::string caught(
      bench
          .run(
              "local r = redis.pcall('LINDEX', KEYS[1], 0) return type(r) == 'table' and r.err or 'no error'",
              {key})
          .text);
  if (caught.find("WRONGTYPE") == std::string::npos)
    return fails("redis.pcall of LINDEX of a text gave '" + bench.shown(caught) + "'");
  return holds("WRONGTYPE, and redis.pcall catches it");
}

Outcome script_errors(Bench& bench) {
  const Value own = bench.ask(
      bench.call_of("return redis.error_reply('WRONGTYPE key 1 of this request holds no state')", {}));
  if (!begins_with_word(own, "WRONGTYPE"))
    return fails("redis.error_reply('WRONGTYPE ...') was answered " + bench.shown(own));
  const Value raised = bench.ask(bench.call_of("error('on purpose')", {}));
  if (raised.type != Type::error || raised.text.find("on purpose") == std::string_view::npos)
    return fails("error('on purpose') in a script was answered " + bench.shown(raised));
  return bench.expect({"PING"}).text == "PONG" ? holds("a script's errors are its answer, with their words")
                                               : fails("after a script's error PING was not answered PONG");
}

// One connection writes the key all the time, a script on another writes it and reads what it wrote.
Outcome alone(Bench& bench) {
  constexpr int kScripts = 6;
  constexpr int kWrites = 3'000;
  const std::string key = bench.key("alone");
  const CommandWords call = bench.call_of(
      "for i = 1, 1500 do local v = string.format('%d', i) redis.call('SET', KEYS[1], v, 'PX', 30000) "
      "local r = redis.call('GET', KEYS[1]) if r ~= v then return {i, r} end end return 0",
      {key});
  const auto other = bench.another();
  std::string writes;
  for (int i = 0; i < kWrites; ++i)
    writes += "*5\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" + key +
              "\r\n$1\r\nx\r\n$2\r\nPX\r\n$5\r\n30000\r\n";
  other->send(writes);
  bench.send(std::vector<CommandWords>(kScripts, call));
  other->send(writes);
  std::string wrong;
  for (int i = 0; i < kScripts; ++i) {
    const Value said = bench.receive().value;
    if ((said.type != Type::integer || said.integer != 0) && wrong.empty())
      wrong = "a script that wrote a key and read it again found another's value: " + bench.shown(said);
  }
  for (int i = 0; i < 2 * kWrites; ++i) other->receive();
  return wrong.empty() ? holds("no other connection's write came between a script's commands") : fails(wrong);
}

}  // namespace

std::span<const EngineCase> script_engine_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"numbers", "Lua's numbers as doubles, exact up to 2^53", numbers},
      {"texts", "Lua 5.1's string.format, string.match and table.remove", formats},
      {"replies", "whole numbers as integers, texts as texts and false as null, all of a table", replies},
      {"unpack", "commands of 1,000 words in a script", many_arguments},
      {"script-load", "SCRIPT LOAD of up to 64 KiB that answers the text's SHA-1", load, true},
      {"noscript", "an error that begins with NOSCRIPT for an unknown script, and EVALSHA after SCRIPT LOAD",
       unknown_script},
      {"wrongtype", "an error that begins with WRONGTYPE, which redis.pcall catches", wrong_type},
      {"script-errors", "a script's error as its answer, beginning with its own word", script_errors},
      {"alone", "scripts that run alone", alone},
  });
  return kCases;
}

}  // namespace weir::engine
