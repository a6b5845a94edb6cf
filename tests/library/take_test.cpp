// As much as there is, of a store and of a limits file.
#include "weir/take.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

TEST(TakeUpTo, of_a_store_in_memory_by_every_algorithm_that_it_counts) {
  RedisStore store("memory:");
  for (const Algorithm algorithm : {Algorithm::gcra, Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                    Algorithm::sliding_window_counter}) {
    SharedLimiter limiter{Quota::per_day(9), store, {.algorithm = algorithm}};
    const std::string key = std::to_string(static_cast<int>(algorithm));
    EXPECT_EQ(limiter.take_up_to(key, Cost{6}).granted, 6U);
    EXPECT_EQ(limiter.take_up_to(key, Cost{6}, Cost{4}).granted, 0U);
    const Taken rest = limiter.take_up_to(key, Cost{6});
    EXPECT_EQ(rest.granted, 3U);
    EXPECT_EQ(rest.decision.remaining, 0);
  }
  SharedLimiter limiter{Quota::per_day(9), store};
  EXPECT_EQ(limiter.take_up_to("own", Quota::per_day(4), Cost{6}).granted, 4U);
  EXPECT_THROW(static_cast<void>(limiter.take_up_to("k", Cost{1}, Cost{2})), std::invalid_argument);
}

// Nobody listens there.
TEST(TakeUpTo, of_a_store_that_is_away_is_as_on_store_error_says) {
  RedisStore store("redis://127.0.0.1:1");
  SharedLimiter local{Quota::per_hour(4), store};
  EXPECT_EQ(local.take_up_to("k", Cost{6}).granted, 4U);
  const Taken denied = local.take_up_to("k", Cost{6});
  EXPECT_EQ(denied.granted, 0U);
  EXPECT_EQ(denied.decision.source, Source::fallback);
  SharedLimiter open{Quota::per_hour(4), store, {.on_store_error = OnStoreError::allow}};
  EXPECT_EQ(open.take_up_to("k", Cost{6}).granted, 4U) << "no more than its burst";
  SharedLimiter shut{Quota::per_hour(4), store, {.on_store_error = OnStoreError::deny}};
  EXPECT_EQ(shut.take_up_to("k", Cost{6}).granted, 0U);
}

TEST(TakeUpTo, by_a_limits_file) {
  Limits limits = Limits::from_text(
      "version: 1\n"
      "limits:\n"
      "  mails: { by: [user], rate: 10/h burst 40 }\n"
      "  pages: { by: [user], rate: 100/d algorithm=fixed_window, cost: 7 }\n"
      "routes:\n"
      "  - { when: { user: \"*\" }, limits: [mails, pages] }\n");
  const Attribute user[] = {{"user", "a"}};
  const LimitsTaken some = limits.take_up_to({.attributes = user, .cost = Cost{10}});
  EXPECT_EQ(some.granted, 10U);
  const LimitsTaken rest = limits.take_up_to({.attributes = user, .cost = Cost{10}}, Cost{2});
  EXPECT_EQ(rest.granted, 4U);
  EXPECT_EQ(rest.by, "pages");
  EXPECT_EQ(rest.decision.remaining, 2);
  EXPECT_EQ(limits.look({.attributes = user, .cost = Cost{0}}).decision.remaining, 2);
  EXPECT_FALSE(limits.take_up_to({.attributes = user, .cost = Cost{10}}).allowed());
  EXPECT_EQ(limits.take_up_to({.cost = Cost{10}}).granted, 10U) << "no limit applies";
  EXPECT_THROW(static_cast<void>(limits.take_up_to({.attributes = user}, Cost{2})), std::invalid_argument);
  const LimitCost costs[] = {{"mails", Cost{3}}};
  EXPECT_THROW(static_cast<void>(limits.take_up_to({.attributes = user, .cost = Cost{2}, .costs = costs})),
               std::invalid_argument);
}

}  // namespace
}  // namespace weir
