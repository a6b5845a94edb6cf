#include "redis/take_script.hpp"

#include <algorithm>

#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kTakeScript;  // take.lua, put into a string by CMake

using std::chrono::nanoseconds;

UnitsAsked UnitsAsked::up_to(std::uint64_t least, std::uint64_t most, bool looks) {
  constexpr auto kMostAsked = static_cast<std::uint64_t>(kMostUnits);
  least = std::min(least, kMostAsked);
  return {least, std::clamp(most, least, kMostAsked), looks};
}

std::string_view take_script() { return kTakeScript; }

const std::string& take_sha() {
  static const std::string kSha = sha_of(take_script());
  return kSha;
}

void append_take(std::string& out, std::span<const ScriptCheck> asks, const UnitsAsked& units,
                 std::optional<nanoseconds> now) {
  resp::Writer to(out);
  to.array(6 + asks.size() * (2 + kWordsOfLimit) + (now ? 1 : 0));
  to.bulk("EVALSHA");
  to.bulk(take_sha());
  to.number(asks.size());
  for (const ScriptCheck& ask : asks) to.bulk(ask.key);
  for (const ScriptCheck& ask : asks) append_limit(to, ask);
  // One more than the burst admits is as good as any number above it.
  for (const ScriptCheck& ask : asks) {
    const auto burst = static_cast<std::uint64_t>(ask.rule->quota.burst());
    to.number(ask.cost.units == 0 ? 1 : burst / ask.cost.units + 1);
  }
  to.bulk(units.looks ? "look" : "take");
  to.number(units.least);
  to.number(units.most);
  if (now) to.bulk(time_word(*now));
}

tl::expected<std::uint64_t, std::string> read_granted(const resp::Value& reply, const UnitsAsked& units) {
  if (!decided_at(reply)) return not_ours(reply);
  const std::int64_t granted = reply.items[0].integer;
  if (granted == 0) return 0;
  const auto number = static_cast<std::uint64_t>(granted);
  if (granted < 0 || number < units.least || number > units.most)
    return disagree("granted " + std::to_string(granted) + " units");
  return number;
}

std::optional<std::string> read_take(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                     const UnitsAsked& units, std::span<Decision> decisions) {
  const tl::expected<bool, std::string> all = decide_all(reply, asks, decisions, units.looks);
  if (!all) return all.error();
  const bool granted = reply.items[0].integer != 0;
  if (*all == granted) return std::nullopt;
  return disagree(granted ? "granted what is denied" : "did not grant what is allowed").value();
}

}  // namespace weir::redis
