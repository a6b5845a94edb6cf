#include "limits/costs.hpp"

#include <gtest/gtest.h>

#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

// "tpm=5,rpm=1" is one cost; a number the request's own; nothing says none.
std::string cost_of(const Set& set, std::string_view cost, std::string_view words) {
  std::vector<NamedCost> costs;
  std::string error;
  Description asked{.attributes = {}, .costs_an_estimate = true};
  if (cost.find('=') != std::string_view::npos) {
    if (!read_costs(cost, costs, error)) return error;
    asked.costs = costs;
  } else if (!cost.empty()) {
    asked.cost = std::stoull(std::string(cost));
    asked.costs_an_estimate = false;
  }
  const std::vector<Attribute> attributes = split(words);
  asked.attributes = attributes;
  MatchMemory memory;
  Matched matched;
  const Time now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};
  if (!match(set, asked, now, memory, matched)) return matched.error;
  std::string text;
  for (const store::Check& each : matched.all())
    text += (text.empty() ? "" : " ") + std::to_string(each.cost.units);
  return text;
}

constexpr std::string_view kModels = R"(
version: 1
limits:
  tpm: { by: [org], rate: 60000/min, cost: { from: tokens }, hold: { estimate: 2000, ttl: 60s } }
  rpm: { by: [org], rate: 600/min, hold: { ttl: 60s } }
  dear: { by: [org], rate: 600/min, cost: [{ when: { path: /deep }, cost: 10 }], hold: { estimate: 5, ttl: 60s } }
  site: { by: [org], rate: 600/min }
  bytes: { by: [url], rate: 600/min, cost: { from: size } }
)";

TEST(Costs, of_a_request_at_each_limit) {
  const auto set = compile(kModels);
  struct Row {
    const char* cost;
    const char* words;
    const char* at;  // tpm, rpm, dear and site
  };
  for (const Row& row : {
           Row{"", "org=o", "2000 1 5 1"},                  // the estimates, where the file says nothing
           Row{"", "org=o tokens=70000", "70000 1 5 1"},    // an estimate never beats the attribute
           Row{"3", "org=o tokens=70000", "210000 3 3 3"},  // times the request's own
           Row{"3", "org=o", "3 3 3 3"},                    // which beats an estimate
           Row{"", "org=o path=/deep", "2000 1 10 1"},      // nor the file's list
           Row{"0", "org=o tokens=70000", "0 0 0 0"},       // a look, at every limit
           Row{"tpm=3000,rpm=2", "org=o tokens=70000", "3000 2 5 1"},  // by name, as it is
           Row{"tpm=0", "org=o tokens=70000", "0 1 5 1"},              // nothing there
           Row{"bytes=7", "org=o", "2000 1 5 1"},                      // a limit that is not met
           Row{"bytes=7", "url=u", "7"},                               // in the place of a missing attribute
           Row{"tpm=3,tpm=4", "org=o", "the cost of 'tpm' is given twice"},
           Row{"tmp=3", "org=o", "unknown limit 'tmp'; did you mean tpm?"},
       }) {
    EXPECT_EQ(cost_of(*set, row.cost, row.words), row.at) << row.cost << " " << row.words;
  }
}

TEST(Costs, that_are_errors) {
  const auto set = compile(kModels);
  EXPECT_EQ(cost_of(*set, "", "org=o tokens=many"),
            "limits.tpm.cost: attribute 'tokens': 'many' is not an integer from 0 to 9223372036854775807");
  EXPECT_EQ(cost_of(*set, "", "url=u"), "limits.bytes.cost: the request has no attribute 'size'");
  EXPECT_EQ(cost_of(*set, "9223372036854775807", "org=o tokens=2"),
            "limits.tpm.cost: 9223372036854775807 x 2 is above 9223372036854775807");
  EXPECT_EQ(cost_of(*set, "tpm=3,rpm", "org=o"), "'rpm' is not LIMIT=UNITS, as in tpm=3000,rpm=1");
  EXPECT_EQ(cost_of(*set, "tpm=3,", "org=o"), "'' is not LIMIT=UNITS, as in tpm=3000,rpm=1");
  EXPECT_EQ(cost_of(*set, "=3", "org=o"), "'=3' is not LIMIT=UNITS, as in tpm=3000,rpm=1");
  EXPECT_EQ(cost_of(*set, "tpm=-3", "org=o"),
            "'-3' of 'tpm' is not an integer from 0 to 9223372036854775807");
}

TEST(Costs, of_a_settlement_are_of_limits_with_a_hold) {
  const auto set = compile(kModels);
  const auto found = [&](std::string_view text) {
    std::vector<NamedCost> costs;
    std::vector<store::Actual> actuals;
    std::string error;
    if (!read_costs(text, costs, error) || !find_actuals(*set, costs, actuals, error)) return error;
    return actuals[0].name + " " + std::to_string(actuals[0].units) + " in " +
           std::to_string(actuals[0].limits.size());
  };
  EXPECT_EQ(found("tpm=1500"), "tpm 1500 in 1");
  EXPECT_EQ(found("site=1"), "limit 'site' has no hold, so there is nothing to settle");
  EXPECT_EQ(found("rmp=1"), "unknown limit 'rmp'; did you mean rpm?");
}

// An actual without a name is for the limits whose cost nobody knew before.
TEST(Costs, that_an_actual_without_a_name_is_of) {
  const auto set = compile(R"(
version: 1
limits:
  said: { rate: 60/min, hold: { estimate: 1, ttl: 60s } }
  unsaid: { rate: 60/min, hold: { ttl: 60s } }
  number: { rate: 60/min, cost: 3, hold: { ttl: 60s } }
  from: { rate: 60/min, cost: { from: tokens }, hold: { ttl: 60s } }
  list: { rate: 60/min, cost: [{ when: { a: b }, cost: 2 }], hold: { ttl: 60s } }
  changed: { rate: 60/min, hold: { ttl: 60s }, overrides: [{ when: { a: b }, cost: { from: tokens } }] }
)");
  std::string told;
  for (const Set::CompiledLimit& each : set->limits())
    told += each.said->name + (each.windows[0].limit.holding.by_actual ? " yes, " : " no, ");
  EXPECT_EQ(told, "said yes, unsaid no, number no, from yes, list yes, changed yes, ");
}

}  // namespace
}  // namespace weir::limits
