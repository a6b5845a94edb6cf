// What the nodes of a cluster say of keys that are not theirs.
#include <array>
#include <string>

#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "redis/redirect.hpp"
#include "redis/slot.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using Type = resp::Value::Type;

Outcome one_slot(Bench& bench) {
  if (!bench.is_cluster()) return skipped("the URL names no cluster");
  const Value said = bench.ask(bench.call_of("return #KEYS", {bench.prefix() + "a", bench.prefix() + "b"}));
  if (said.type != Type::integer || said.integer != 2)
    return fails("a script of two keys with one {hash tag} was answered " + bench.shown(said));
  return holds("keys with one {hash tag} may be used by one script");
}

Outcome other_slots(Bench& bench) {
  if (!bench.is_cluster()) return skipped("the URL names no cluster");
  // Nothing is read or written under the second name: the script looks at neither.
  std::string other = bench.endpoint().prefix + "{check}:b";
  for (int i = 0; redis::slot_of(other) == redis::slot_of(bench.prefix()) && i < 9; ++i)
    other = bench.endpoint().prefix + "{check" + std::to_string(i) + "}:b";
  if (redis::slot_of(other) == redis::slot_of(bench.prefix()))
    return skipped("the prefix has a {hash tag}, so all keys share a slot");
  const Value said = bench.ask(bench.call_of("return #KEYS", {bench.prefix() + "a", other}));
  if (said.type != Type::error || !said.text.starts_with("CROSSSLOT"))
    return fails("a script of keys in two slots was answered " + bench.shown(said));
  return holds("CROSSSLOT");
}

Outcome moved(Bench& bench) {
  if (!bench.is_cluster()) return skipped("the URL names no cluster");
  const auto& other = bench.other_master();
  if (!other) return skipped("one node serves all slots");
  const redis::NodeAddress& asked = *other;
  const auto wire = bench.another(asked);
  const Value said = Bench::ask(*wire, {"GET", bench.key("moved")});
  const auto redirect = said.type == Type::error && said.text.starts_with("MOVED ")
                            ? redis::redirect_of(said.text, asked.host)
                            : std::nullopt;
  if (!redirect)
    return fails(asked.text() + " was asked for a key of another and answered " + bench.shown(said));
  if (redirect->slot != redis::slot_of(bench.prefix()) || redirect->to != bench.node())
    return fails(asked.text() + " answered " + bench.shown(said) + " where CLUSTER SLOTS says slot " +
                 std::to_string(redis::slot_of(bench.prefix())) + " is at " + bench.node().text());
  return holds("MOVED to the node that CLUSTER SLOTS names");
}

}  // namespace

std::span<const EngineCase> cluster_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"hash-tag", "slots that go by the {hash tag}", one_slot},
      {"crossslot", "CROSSSLOT for keys of several slots", other_slots},
      {"moved", "MOVED SLOT HOST:PORT for another node's key", moved},
  });
  return kCases;
}

}  // namespace weir::engine
