// What a reservation that waits for one limit may take from the others that it meets (docs/algorithm.md,
// "Several limits"), by random traces through the embedded store, with classes and guarantees, each with a
// variant known to be wrong. WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agreement/reserving.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::lift_promise_test {
namespace {

using std::chrono::nanoseconds;

constexpr int kTraces = 2'000;
constexpr int kSteps = 60;

store::Limit limit_of(std::uint64_t id, std::int64_t burst, std::int64_t interval, std::int64_t kept = 0,
                      std::int64_t lowest_kept = 0) {
  store::Limit limit{.rule = {Quota::make({1, nanoseconds{interval}}, burst).value()}, .id = id};
  limit.rule.kept = nanoseconds{kept};
  limit.lowest_kept = nanoseconds{lowest_kept};
  return limit;
}

std::int64_t in_ns(std::uint64_t units, const store::Limit& limit) {
  return static_cast<std::int64_t>(units) * limit.rule.quota.emission_interval().count();
}

// What the next request of `units` would wait for, by that limit alone.
std::int64_t wait_of(Reserving& store, const store::Limit& limit, const std::string& key, std::uint64_t units,
                     std::int64_t now) {
  return store.look({{&limit, key, units}}, now).decisions[0].retry_after.value_or(nanoseconds{0}).count();
}

// ----------------------------------------------------------------------------------------------- classes

struct Waits {
  int too_long = 0;
  int lifts = 0;
};

// Requests of three classes share a tenant; those of the first wait for their user's limit. How often such a
// wait made one of c units wait for longer than c x T of the tenant.
Waits waits_after_lifts(bool knows_the_lowest) {
  core::Chance chance;
  Reserving store;
  Waits waits;
  std::int64_t now = 1'000;
  for (int trace = 0; trace < kTraces; ++trace) {
    const std::int64_t burst = 2 + chance.up_to(20), interval = 1 + chance.up_to(20);
    const std::int64_t full = burst * interval;
    const std::int64_t low = chance.up_to(full / 3), lower = low + chance.up_to(full / 3);
    const std::int64_t lowest = knows_the_lowest ? lower : 0;
    const store::Limit classes[] = {limit_of(1, burst, interval, 0, lowest),
                                    limit_of(1, burst, interval, low, lowest),
                                    limit_of(1, burst, interval, lower, lowest)};
    const store::Limit user = limit_of(2, 1 + chance.up_to(2), 1 + chance.up_to(100));
    const std::string tenant = std::to_string(trace);
    for (int step = 0; step < kSteps; ++step) {
      now += chance.up_to(2) == 0 ? chance.up_to(3 * interval) : 0;
      const std::string name = tenant + "/" + std::to_string(chance.up_to(2));
      const auto which = static_cast<std::size_t>(chance.up_to(2));
      const auto cost = 1 + chance() % static_cast<std::uint64_t>(std::min<std::int64_t>(burst, 3));
      const auto owed = store.look({{&classes[0], tenant}}, now).decisions[0].reset_after.count();
      const Reserving::Told told =
          store.reserve({{&classes[which], tenant, cost}, {&user, name}}, now, chance.up_to(400));
      if (!told.granted || told.wait <= owed) continue;
      ++waits.lifts;
      for (const store::Limit& each : classes) {
        const std::uint64_t most = core::most_units(each.rule);
        for (std::uint64_t units = 1; units <= most; ++units)
          waits.too_long += wait_of(store, each, tenant, units, now) > in_ns(units, each) ? 1 : 0;
      }
    }
    now += 10'000;
  }
  return waits;
}

TEST(LiftPromise, makes_nobody_of_any_class_wait_for_longer_than_its_own_cost) {
  const Waits waits = waits_after_lifts(true);
  EXPECT_EQ(waits.too_long, 0);
  EXPECT_GT(waits.lifts, kTraces / 4);
}
// The canary: only the asker's own class counts.
TEST(LiftPromise, a_bound_by_the_askers_own_class_is_found_out) {
  EXPECT_GT(waits_after_lifts(false).too_long, 20);
}

// -------------------------------------------------------------------------------------------- guarantees

struct Refusals {
  int by_the_parent = 0;
  int too_long = 0;  // waits for the guarantee
  int lifts = 0;
};

// Requests inside a guarantee wait for their user's limit, others borrow. How often one whose guarantee has
// room was refused by the parent, and how often a wait made one of c units wait for longer than c x T of the
// guarantee. A parent that is not bounded says that everybody waits for the user's limit, and so does a
// guarantee.
Refusals refusals_after_lifts(bool parent_is_bounded, bool guarantee_is_bounded) {
  core::Chance chance;
  Reserving store;
  Refusals refusals;
  std::int64_t now = 1'000;
  constexpr std::uint8_t kGuarantee = 0;
  constexpr std::uint16_t kUser = 1U << 2;
  for (int trace = 0; trace < kTraces; ++trace) {
    const std::int64_t burst = 6 + chance.up_to(20), interval = 2 + chance.up_to(20);
    // Rates that add up to the parent's at most, bursts to the reserve.
    const auto children = static_cast<std::size_t>(1 + chance.up_to(2));
    std::vector<store::Limit> guarantees;
    std::int64_t reserved = 0;
    for (std::size_t i = 0; i < children; ++i) {
      const std::int64_t its = 1 + chance.up_to(burst / 3 - 1);
      guarantees.push_back(limit_of(
          10 + i, its, interval * static_cast<std::int64_t>(children) + chance.up_to(1) * chance.up_to(50)));
      reserved += its;
    }
    const std::int64_t kept = reserved * interval;
    const std::int64_t lowest = kept + chance.up_to(burst * interval - kept);
    const store::Limit parent = limit_of(1, burst, interval, kept, lowest);
    const store::Limit bulk = limit_of(1, burst, interval, lowest, lowest);
    const store::Limit user = limit_of(2, 1 + chance.up_to(1), 1 + chance.up_to(200));
    const std::string run = std::to_string(trace);
    for (int step = 0; step < kSteps; ++step) {
      now += chance.up_to(2) == 0 ? chance.up_to(3 * interval) : 0;
      if (chance.up_to(2) == 0) {
        store.check({{chance.up_to(1) == 0 ? &parent : &bulk, run, 1 + chance() % 3}}, now);
        continue;
      }
      const auto which = static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(children) - 1));
      const store::Limit& guarantee = guarantees[which];
      const std::string child = run + "/" + std::to_string(which);
      const std::uint64_t cost = 1 + chance() % static_cast<std::uint64_t>(guarantee.rule.quota.burst());
      const std::vector<Ask> asks = {
          {&guarantee, child, cost, true, store::Check::kNoGuarantee,
           guarantee_is_bounded ? std::uint16_t{0} : kUser},
          {&parent, run, cost, false, kGuarantee, parent_is_bounded ? std::uint16_t{0} : kUser},
          {&user, child + "/" + std::to_string(chance.up_to(1))}};
      const std::vector<Decision> due = store.look({asks[0], asks[1]}, now).decisions;
      refusals.by_the_parent += due[0].allowed() && !due[1].allowed() ? 1 : 0;
      const Reserving::Told told = store.reserve(asks, now, chance.up_to(400));
      if (!told.granted || told.wait == 0) continue;
      ++refusals.lifts;
      for (std::uint64_t units = 1; units <= static_cast<std::uint64_t>(guarantee.rule.quota.burst());
           ++units)
        refusals.too_long += wait_of(store, guarantee, child, units, now) > in_ns(units, guarantee) ? 1 : 0;
    }
    now += 100'000;
  }
  return refusals;
}

TEST(LiftPromise, no_guaranteed_request_is_refused_and_no_guarantee_is_used_up) {
  const Refusals refusals = refusals_after_lifts(true, true);
  EXPECT_EQ(refusals.by_the_parent, 0);
  EXPECT_EQ(refusals.too_long, 0);
  EXPECT_GT(refusals.lifts, kTraces);
}
// The canaries.
TEST(LiftPromise, a_parent_that_is_lifted_without_a_bound_is_found_out) {
  EXPECT_GT(refusals_after_lifts(false, false).by_the_parent, 20);
}
TEST(LiftPromise, a_guarantee_that_is_lifted_without_a_bound_is_found_out) {
  EXPECT_GT(refusals_after_lifts(true, false).too_long, 20);
}

// ------------------------------------------------------------------------------------ waited for together

// One limit by the definition: a list of charges, each as of its moment. One that is nobody else's to see is
// there from that moment on only.
struct Charges {
  std::int64_t burst;
  std::int64_t interval;
  struct One {
    std::int64_t seen_from;
    std::int64_t moment;
    std::int64_t need;
  };
  std::vector<One> all{};

  std::int64_t tat(std::int64_t at) const {
    std::int64_t tat = 0;
    for (const One& each : all)
      if (each.seen_from <= at) tat = std::max(tat, each.moment) + each.need;
    return tat;
  }
  bool allows(std::int64_t at, std::int64_t need, std::int64_t kept) const {
    return std::max(tat(at), at) + need <= at + burst * interval - kept;
  }
};

struct Part {
  std::size_t limit;
  std::uint64_t cost;
  std::int64_t kept;
  std::uint16_t waits_with;  // of the request's parts
};

// The moment that the definition gives, found by trying one after the other; nothing: none that is granted.
std::optional<std::int64_t> moment_of(std::vector<Charges>& limits, const std::vector<Part>& parts,
                                      std::int64_t now, std::int64_t max_wait) {
  const auto need = [&](const Part& part) {
    return static_cast<std::int64_t>(part.cost) * limits[part.limit].interval;
  };
  std::size_t awaited = 0;
  std::int64_t moment = now;
  for (;; ++moment) {
    if (moment - now > max_wait) return std::nullopt;
    const auto denies = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return !limits[part.limit].allows(moment, need(part), part.kept);
    });
    if (denies == parts.end()) break;
    awaited = static_cast<std::size_t>(denies - parts.begin());
  }
  std::vector<Charges::One> charges;
  for (const Part& part : parts) {
    const Charges& limit = limits[part.limit];
    const bool lifted = limit.tat(moment) < moment, together = (part.waits_with >> awaited & 1) != 0;
    if (lifted && !together && moment - now > limit.burst * limit.interval - need(part)) return std::nullopt;
    charges.push_back({lifted && together ? moment : now, moment, need(part)});
  }
  for (std::size_t i = 0; i < parts.size(); ++i) limits[parts[i].limit].all.push_back(charges[i]);
  return moment;
}

struct Differences {
  int found = 0;
  int waited = 0;
};

// A parent, and a child with two windows: all that meet the child meet the parent, and some meet the parent
// alone. How often the store says something else than the definition; with `all`, the store takes it that the
// parent, too, may be lifted as far as it takes.
Differences differences(bool all) {
  core::Chance chance;
  Reserving store;
  Differences differences;
  std::int64_t now = 1'000;
  for (int trace = 0; trace < kTraces; ++trace) {
    std::vector<store::Limit> limits;
    std::vector<Charges> model;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::int64_t burst = 1 + chance.up_to(5), interval = 1 + chance.up_to(10);
      limits.push_back(limit_of(1 + i, burst, interval));
      model.push_back({burst, interval});
    }
    const std::string key = std::to_string(trace);
    for (int step = 0; step < kSteps && differences.found < 1'000; ++step) {
      now += chance.up_to(2) == 0 ? chance.up_to(40) : 0;
      std::vector<Part> parts = {{0, 1 + chance() % static_cast<std::uint64_t>(model[0].burst), 0, 0}};
      // Of a lower class at the parent: it comes to it as a check does.
      std::int64_t max_wait = chance.up_to(150);
      if (chance.up_to(3) == 0) {
        parts[0].kept = chance.up_to(model[0].burst * model[0].interval);
        if (parts[0].kept != 0) max_wait = 0;
      }
      if (chance.up_to(3) != 0) {
        const std::uint64_t most = static_cast<std::uint64_t>(std::min(model[1].burst, model[2].burst));
        const std::uint64_t cost = 1 + chance() % most;
        parts.push_back({1, cost, 0, 0b101});
        parts.push_back({2, cost, 0, 0b011});
      }
      std::vector<store::Limit> own(limits);
      own[0].rule.kept = nanoseconds{parts[0].kept};
      std::vector<Ask> asks;
      for (const Part& part : parts)
        asks.push_back({&own[part.limit], key, part.cost, false, store::Check::kNoGuarantee,
                        all ? std::uint16_t{0b111} : part.waits_with});
      const Reserving::Told told = store.reserve(asks, now, max_wait);
      const std::optional<std::int64_t> moment = moment_of(model, parts, now, max_wait);
      const bool same = told.granted == moment.has_value() && (!told.granted || now + told.wait == *moment);
      differences.found += same ? 0 : 1;
      differences.waited += told.granted && told.wait > 0 && parts.size() > 1 ? 1 : 0;
      if (!same) break;
    }
    now += 10'000;
  }
  return differences;
}

TEST(LiftPromise, what_all_wait_for_together_is_as_if_each_came_at_its_moment) {
  const Differences found = differences(false);
  EXPECT_EQ(found.found, 0);
  EXPECT_GT(found.waited, 5 * kTraces);
}
// The canary: those that meet the parent alone do not wait for the child.
TEST(LiftPromise, a_limit_that_others_meet_alone_is_found_out) { EXPECT_GT(differences(true).found, 20); }

}  // namespace
}  // namespace weir::lift_promise_test
