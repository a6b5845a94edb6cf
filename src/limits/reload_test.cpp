// The promise of every limit over reloads: traces of requests by chance, and other numbers in force in
// between.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

// Numbers that are whole nanoseconds, so that the bound needs no rounding.
std::string file_by(core::Chance& chance) {
  const auto of = [&chance](std::vector<int> numbers) {
    return std::to_string(
        numbers[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(numbers.size()) - 1))]);
  };
  return "version: 1\nlimits:\n  tenant: { by: [t], rate: [" + of({5, 10, 20}) + "/s burst " +
         of({10, 12, 20}) + ", " + of({40, 60, 100}) + "/min burst " + of({30, 60}) +
         "], reserve: 50% }\n  user: { by: [t, u], within: tenant, rate: " + of({1, 4, 10}) + "/s burst " +
         of({3, 6, 9}) + ", overrides: [ { when: { u: \"1\" }, guarantee: 1/2s burst " + of({1, 2}) +
         " } ] }\n  window: { by: [t], rate: " + of({7, 9, 15}) + "/2s algorithm=fixed_window }\n";
}

struct Admitted {
  nanoseconds at;
  std::uint64_t units;
  core::Rule rule;
};

// Whether the last of them keeps what is promised of every span that ends with it.
bool promised(const std::vector<Admitted>& all) {
  const Admitted& last = all.back();
  std::uint64_t units = 0;
  std::int64_t burst = 0;
  nanoseconds interval = nanoseconds::max();
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const Quota& quota = each->rule.quota;
    const nanoseconds span = last.at - each->at;
    if (each->rule.algorithm != Algorithm::gcra && span >= quota.rate().period) break;
    units += each->units;
    burst = std::max(burst, quota.burst());
    interval = std::min(interval, quota.emission_interval());
    const std::int64_t most = each->rule.algorithm == Algorithm::gcra ? burst + span / interval : 2 * burst;
    if (units > static_cast<std::uint64_t>(most)) return false;
  }
  return true;
}

// How many of the traces break a promise. `forgets`: the state belongs to the numbers too, as it must not.
int broken(int traces, bool forgets) {
  core::Chance chance(forgets ? 1 : 0);
  std::vector<std::shared_ptr<const Set>> sets;
  while (sets.size() < 100) sets.push_back(compile(file_by(chance)));
  store::EmbeddedStore store{std::size_t{16} << 20, weir::WhenFull::deny, {1, 2}};
  MatchMemory memory;
  Matched matched;
  nanoseconds now = std::chrono::hours{1};
  int wrong = 0;
  for (int trace = 0; trace < traces; ++trace) {
    const std::string tenant = std::to_string(trace);
    std::map<std::pair<std::uint64_t, std::string>, std::vector<Admitted>> admitted;
    const Set* set = nullptr;
    std::uint64_t version = 0;
    bool good = true;
    for (int step = 0; step < 25 && good; ++step) {
      if (step == 0 || chance.up_to(7) == 0) {
        version = static_cast<std::uint64_t>(chance.up_to(99));
        set = sets[version].get();
      }
      now += nanoseconds{chance.up_to(1) == 0 ? chance.up_to(40'000'000) : chance.up_to(2'000'000'000)};
      const std::vector<Attribute> attributes = {{"t", tenant}, {"u", chance.up_to(1) == 0 ? "1" : "2"}};
      EXPECT_TRUE(match(*set, {attributes, static_cast<std::uint64_t>(1 + chance.up_to(3))}, Time(), memory,
                        matched));
      std::vector<store::Limit> mangled;
      mangled.reserve(matched.count);
      if (forgets) {
        for (store::Check& each : matched.all()) {
          mangled.push_back(*each.limit);
          mangled.back().id += version << 40;
          each.limit = &mangled.back();
        }
      }
      store::Request request;
      request.checks = matched.all();
      store::Request* const one = &request;
      store.submit({&one, 1}, {now, now});
      EXPECT_EQ(request.fault, Fault::none) << request.why;
      if (!request.allowed()) continue;
      for (std::size_t i = 0; i < matched.count; ++i) {
        const store::Check& each = matched.checks[i];
        if (each.shadow && !each.decision.allowed()) continue;
        const std::uint64_t id = forgets ? each.limit->id - (version << 40) : each.limit->id;
        auto& of_key = admitted[{id, std::string(each.key)}];
        of_key.push_back({now, each.cost.units, each.limit->rule});
        good = good && promised(of_key);
      }
    }
    wrong += good ? 0 : 1;
  }
  return wrong;
}

TEST(Reload, traces_keep_the_promise_of_every_limit) {
  EXPECT_EQ(broken(core::Chance::is_long() ? 100'000 : 2'000, false), 0);
}

// The canary: were a state forgotten at a reload, the traces would tell.
TEST(Reload, states_that_belonged_to_the_numbers_would_break_it) { EXPECT_GT(broken(1000, true), 10); }

}  // namespace
}  // namespace weir::limits
