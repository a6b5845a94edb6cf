// How the engine is set up: whether it evicts keys, what it keeps on disk, and whether it has replicas.
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/number.hpp"
#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "redis/redirect.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using Type = resp::Value::Type;
using namespace std::chrono_literals;

// By CONFIG GET, and where that is refused by INFO.
std::optional<std::string> setting(Bench& bench, const std::string& name, const std::string& info_name) {
  const Value said = bench.ask({"CONFIG", "GET", name});
  if (said.type == Type::array && said.items.size() == 2) return std::string(said.items[1].text);
  return bench.info("memory", info_name);
}

Outcome role(Bench& bench) {
  const Value said = bench.ask({"ROLE"});
  if (said.type == Type::array && !said.items.empty() && said.items[0].type == Type::string) {
    const std::string name(said.items[0].text);
    return name == "master" ? holds("ROLE says master") : fails("ROLE says " + bench.shown(name));
  }
  if (const auto name = bench.info("replication", "role"))
    return *name == "master" ? holds("INFO says master") : fails("INFO says " + bench.shown(*name));
  return skipped("ROLE and INFO are refused; the next case tells");
}

Outcome writes(Bench& bench) {
  const Value said = bench.ask({"SET", bench.key("write"), "v", "PX", "30000"});
  return said.text == "OK" ? holds("SET was answered OK") : fails("SET was answered " + bench.shown(said));
}

Outcome eviction(Bench& bench) {
  const auto policy = setting(bench, "maxmemory-policy", "maxmemory_policy");
  if (!policy) return note("CONFIG GET and INFO do not tell the policy: make sure that it is noeviction");
  const auto most = setting(bench, "maxmemory", "maxmemory");
  if (*policy == "noeviction") return holds("noeviction");
  if (most && *most == "0")
    return note(bench.shown(*policy) + ", which evicts nothing as long as maxmemory is 0");
  return fails(bench.shown(*policy) + " with maxmemory " + bench.shown(most.value_or("unknown")) +
               ": under pressure limits are forgotten");
}

Outcome memory(Bench& bench) {
  const auto most = setting(bench, "maxmemory", "maxmemory");
  const auto number = most ? core::parse_integer(*most) : std::nullopt;
  if (!number) return skipped("CONFIG GET and INFO do not tell maxmemory");
  const auto used_text = bench.info("memory", "used_memory");
  const auto used = used_text ? core::parse_integer(*used_text) : std::nullopt;
  if (*number == 0) return note("maxmemory is 0: the machine's memory is the bound");
  if (!used) return holds("maxmemory is " + *most);
  const std::string seen = *used_text + " of " + *most + " bytes are used";
  return *used >= *number / 100 * 95 ? fails(seen) : holds(seen);
}

Outcome persistence(Bench& bench) {
  const auto aof = bench.info("persistence", "aof_enabled");
  const auto saved = bench.info("persistence", "rdb_last_bgsave_status");
  if (!aof) return skipped("INFO does not tell of persistence");
  if (saved && *saved != "ok")
    return fails("the last snapshot failed (rdb_last_bgsave_status: " + bench.shown(*saved) + ")");
  if (*aof == "1") return holds("an append-only file");
  return note("no append-only file: a restart forgets what was charged since the last snapshot");
}

// What a replica has of a key that a script wrote by its clock; empty when it never came.
std::string copied(Bench& bench, Wire& replica, const std::string& key) {
  for (int tries = 0; tries < 40; ++tries) {
    if (bench.is_cluster()) Bench::ask(replica, {"READONLY"});
    const Value said = Bench::ask(replica, {"GET", key});
    if (said.type == Type::string) return std::string(said.text);
    if (said.type == Type::error) return "";
    std::this_thread::sleep_for(25ms);
  }
  return "";
}

Outcome replicas(Bench& bench) {
  const Value said = bench.ask({"ROLE"});
  if (said.type != Type::array || said.items.size() < 3) return skipped("ROLE does not tell of replicas");
  std::vector<redis::NodeAddress> found;
  for (const Value& each : said.items[2].items) {
    const auto port = each.items.size() > 1 ? redis::port_of(each.items[1].text) : std::nullopt;
    if (port) found.push_back({std::string(each.items[0].text), *port});
  }
  if (found.empty()) return skipped("it has none");
  const std::string key = bench.key("replica");
  const std::string written(
      bench
          .run("local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1] .. ' ' .. t[2], 'PX', 30000) "
               "return redis.call('GET', KEYS[1])",
               {key})
          .text);
  std::string away;
  for (const redis::NodeAddress& each : found) {
    try {
      const auto wire = bench.another(each);
      const Value write = Bench::ask(*wire, {"SET", key, "v", "PX", "30000"});
      if (write.type != Type::error) return fails(each.text() + " is a replica and took a SET");
      const std::string word(write.text.substr(0, write.text.find(' ')));
      if (word != "READONLY" && word != "MOVED")
        return fails(each.text() + " refused a SET with " + bench.shown(write.text));
      if (const std::string copy = copied(bench, *wire, key); copy != written)
        return fails(each.text() + " has '" + bench.shown(copy) + "' where a script wrote '" +
                     bench.shown(written) + "'");
    } catch (const NoAnswer& why) {
      away = why.what();
    }
  }
  if (!away.empty()) return note("a replica was not reached: " + bench.shown(away));
  return holds(std::to_string(found.size()) + " refuse writes and have what a script wrote by its clock");
}

}  // namespace

std::span<const EngineCase> setup_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"role", "a master", role},
      {"writes", "a node that takes writes", writes},
      {"eviction", "maxmemory-policy noeviction, so that no limit is forgotten", eviction},
      {"memory", "maxmemory with room, or writes are refused with OOM", memory},
      {"persistence", "snapshots that succeed, or writes may be refused with MISCONF", persistence},
      {"replicas", "replicas that refuse writes with READONLY and get what a script wrote, not the script",
       replicas},
  });
  return kCases;
}

}  // namespace weir::engine
