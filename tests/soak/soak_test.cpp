// Everything that can happen to a shared store, by chance and for long: WEIR_LONG=1 for ten minutes.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <tuple>

#include "core/chance_test.hpp"
#include "soak/soak.hpp"

namespace weir::inline v0_1::soak {
namespace {

constexpr std::uint64_t kRound = 20'000;  // events

TEST(Soak, a_seed_repeats_what_happened) {
  const auto once = [] {
    Soak soak(core::Chance::seed());
    soak.run(kRound);
    return std::tuple(soak.events(), soak.tally().allowed, soak.tally().by_fallback);
  };
  EXPECT_EQ(once(), once());
}

TEST(Soak, whatever_happens_each_request_is_answered_in_time_and_no_key_is_admitted_too_much) {
  const bool is_long = core::Chance::is_long();
  const std::uint64_t seed = core::Chance::seed();
  const std::uint64_t most = is_long ? 60'000'000 : 500'000;
  std::uint64_t events = 0;
  Ledger::Tally sum;
  for (std::uint64_t round = 0; events < most; ++round) {
    Soak soak(seed + round);
    soak.run(kRound);
    events += soak.events();
    const Ledger::Tally& its = soak.tally();
    sum.requests += its.requests;
    sum.by_store += its.by_store;
    sum.remembered += its.remembered;
    sum.leased += its.leased;
    sum.by_fallback += its.by_fallback;
    sum.merged += its.merged;
    sum.foreign += its.foreign;
    sum.given_back += its.given_back;
    sum.cancelled += its.cancelled;
    sum.allowed += its.allowed;
    for (const auto& [cause, count] : its.causes) sum.causes[cause] += count;
    ASSERT_EQ(soak.wrong(), "") << soak.text() << "; WEIR_SEED=" << seed + round << " begins with this round";
    ASSERT_FALSE(HasFailure()) << soak.text() << "; WEIR_SEED=" << seed + round << " begins with this round";
  }
  std::printf(
      "%llu events, %llu requests: %llu by the store (%llu merged), %llu remembered, %llu leased, %llu by "
      "the "
      "fallback, %llu foreign, %llu allowed, %llu given back, %llu cancelled\n",
      (unsigned long long)events, (unsigned long long)sum.requests, (unsigned long long)sum.by_store,
      (unsigned long long)sum.merged, (unsigned long long)sum.remembered, (unsigned long long)sum.leased,
      (unsigned long long)sum.by_fallback, (unsigned long long)sum.foreign, (unsigned long long)sum.allowed,
      (unsigned long long)sum.given_back, (unsigned long long)sum.cancelled);
  for (const auto& [cause, count] : sum.causes)
    std::printf("  %s %llu\n", cause.c_str(), (unsigned long long)count);
}

// The events after which a sabotaged world is noticed; 0: it is not.
std::string noticed(Sabotage sabotage) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    Soak soak(core::Chance::seed() + round, sabotage);
    soak.run(kRound);
    if (!soak.wrong().empty()) return soak.wrong();
  }
  return "";
}

TEST(Soak, notices_what_is_broken) {
  for (const Sabotage each : {Sabotage::answers_of_others, Sabotage::forgets_the_debt,
                              Sabotage::forgets_a_key, Sabotage::gives_back_twice}) {
    const std::string what = noticed(each);
    EXPECT_NE(what, "") << static_cast<int>(each);
    std::printf("%s\n", what.c_str());
  }
}

}  // namespace
}  // namespace weir::soak
