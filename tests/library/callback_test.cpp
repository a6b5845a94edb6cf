// What a callback of a store may do, of one that asks a Redis as of "memory:".
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

// Nobody answers there, so the store's thread decides by its fallback, and calls back.
class Callbacks : public testing::TestWithParam<const char*> {
 protected:
  // Runs `act` in a callback of the store; what it threw.
  template <class Act>
  std::string in_a_callback(Act act) {
    std::promise<std::string> said;
    limiter_.check("asked", [&](const SharedResult&) {
      try {
        act();
        said.set_value("accepted");
      } catch (const std::logic_error& error) {
        said.set_value(error.what());
      }
    });
    return said.get_future().get();
  }

  std::atomic<int> thrown_{0};
  RedisStore store_{GetParam(), {.on_exception = [this](std::exception_ptr error) {
                      try {
                        std::rethrow_exception(std::move(error));
                      } catch (const std::runtime_error& what) {
                        EXPECT_STREQ(what.what(), "of the callback");
                        ++thrown_;
                      }
                    }}};
  SharedLimiter limiter_{Quota::per_hour(10), store_};
};

constexpr const char* kWaits =
    "weir::RedisStore: a callback waits for the store that called it; expected a check() with a callback";

TEST_P(Callbacks, that_would_wait_for_its_store_is_told) {
  Reservation held = limiter_.reserve("held", {.hold = 1h});
  ASSERT_TRUE(held.granted());
  Limits limits = Limits::from_text("version: 1\nlimits: { all: { rate: 10/h } }\n", store_);
  const std::string_view keys[] = {"a", "b"};
  Decision decisions[2];
  EXPECT_EQ(in_a_callback([&] { std::ignore = limiter_.check("key"); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { limiter_.check(keys, decisions); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { std::ignore = store_.check_all({{limiter_, "key"}}); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { limiter_.reset("key"); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { std::ignore = limiter_.reserve("key", {.max_wait = 1s}); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { held.settle(1); }), kWaits);
  EXPECT_EQ(in_a_callback([&] { std::ignore = limits.check(LimitsRequest{}); }), kWaits);
  EXPECT_TRUE(held.settle(1)) << "outside, it can be settled still";
  EXPECT_EQ(limiter_.check("key", Cost{0}).remaining, 10) << "none of them was charged";
}

TEST_P(Callbacks, may_ask_again_and_may_ask_another_store) {
  RedisStore other{"memory:"};
  SharedLimiter elsewhere{Quota::per_hour(10), other};
  std::promise<std::pair<Decision, Decision>> both;
  limiter_.check("key", [&](const SharedResult&) {
    const Decision there = elsewhere.check("key");
    limiter_.check("key", [&both, there](const SharedResult& here) { both.set_value({there, *here}); });
  });
  const auto [there, here] = both.get_future().get();
  EXPECT_EQ(there.remaining, 9);
  EXPECT_EQ(here.remaining, 8);
}

TEST_P(Callbacks, that_is_inside_a_callback_of_another_store_is_told_too) {
  RedisStore other{"memory:"};
  SharedLimiter elsewhere{Quota::per_hour(10), other};
  EXPECT_EQ(in_a_callback([&] {
              std::exception_ptr said;
              elsewhere.check("key", [&](const SharedResult&) {
                try {
                  std::ignore = limiter_.check("key");
                } catch (...) {
                  said = std::current_exception();
                }
              });
              if (said) std::rethrow_exception(said);
            }),
            kWaits);
}

// Of one an hour: the first spends the unit, the second waits for an hour, in which nobody else may.
TEST_P(Callbacks, a_reservation_that_goes_in_one_is_cancelled_without_waiting) {
  for (const bool by_hand : {true, false}) {
    SharedLimiter slow{Quota::per_hour(1), store_};
    const std::string key = by_hand ? "by hand" : "by going";
    EXPECT_TRUE(slow.check(key).allowed());
    std::optional<Reservation> waits = slow.reserve(key, {.max_wait = 2h});
    ASSERT_TRUE(waits->granted());
    EXPECT_FALSE(slow.reserve(key, {.max_wait = 1h}).granted());
    EXPECT_EQ(in_a_callback([&] {
                if (by_hand) {
                  EXPECT_EQ(waits->cancel(), 0U) << "not known yet";
                  EXPECT_FALSE(waits->granted());
                }
                waits.reset();
              }),
              "accepted");
    EXPECT_TRUE(slow.reserve(key, {.max_wait = 1h}).granted()) << "after it, on the same road";
  }
}

// Each step in the callback of the one before it.
TEST_P(Callbacks, may_reserve_settle_and_cancel) {
  SharedLimiter slow{Quota::per_hour(2), store_};
  std::promise<std::string> said;
  slow.reserve("key", {.hold = 1h}, Cost{2}, [&](StoreResult<Reservation> held) {
    EXPECT_TRUE(held->granted());
    held->settle(1, [&](const StoreResult<std::optional<std::chrono::nanoseconds>>& next) {
      EXPECT_EQ(*next, 0ns) << "one unit has come back";
      slow.check("key", [&](const SharedResult& last) {
        EXPECT_TRUE(last->allowed());
        slow.reserve("key", {.max_wait = 1h}, [&](StoreResult<Reservation> waits) {
          EXPECT_TRUE(waits->can_cancel());
          waits->cancel([&](const StoreResult<std::uint64_t>& units) {
            said.set_value("gave back " + std::to_string(*units));
          });
          EXPECT_FALSE(waits->granted());
        });
      });
    });
  });
  EXPECT_EQ(said.get_future().get(), "gave back 1");
  EXPECT_FALSE(slow.reserve("key", {.max_wait = 1s}).granted());
}

TEST_P(Callbacks, are_told_why_a_settlement_is_refused) {
  std::promise<std::pair<Fault, std::string>> said;
  EXPECT_TRUE(limiter_.check("key", Cost{10}).allowed());
  limiter_.reserve("key", {.max_wait = 1h}).settle(100, [&](const auto& refused) {
    if (!refused) said.set_value({refused.error().fault(), refused.error().what()});
  });
  const auto [fault, why] = said.get_future().get();
  EXPECT_EQ(fault, Fault::unsuitable);
  EXPECT_EQ(
      why,
      "weir::Reservation::settle: the reservation was granted without a hold, so there is nothing to settle");
  EXPECT_EQ(limiter_.check("key", Cost{0}).remaining, 0) << "what was charged stands";
}

TEST_P(Callbacks, are_told_the_decisions_of_a_limits_file) {
  Limits limits =
      Limits::from_text("version: 1\nlimits: { user: { by: [user], rate: 2/h, max_wait: 1h } }\n", store_);
  std::promise<std::string> said;
  {
    // What the request views is gone when the store is asked.
    std::string ann = "ann";
    const Attribute asks[] = {{"user", ann}};
    limits.check({asks, Cost{2}}, [&](const LimitsResult& decision) {
      EXPECT_TRUE(decision->allowed());
      const Attribute again[] = {{"user", "ann"}};
      limits.check({again}, [&](const LimitsResult& denied) {
        EXPECT_FALSE(denied->allowed());
        const Attribute waits[] = {{"user", "ann"}};
        limits.reserve({waits}, [&](LimitsReserveResult mine) {
          EXPECT_GT(mine->reservation.wait(), 0s);
          mine->reservation.cancel([&said, by = mine->by](const StoreResult<std::uint64_t>& units) {
            said.set_value(by + " gave back " + std::to_string(*units));
          });
        });
      });
    });
    ann = "bob";
  }
  EXPECT_EQ(said.get_future().get(), "user gave back 1");
  EXPECT_FALSE(limits.check({{"user", "ann"}}).allowed());
  EXPECT_TRUE(limits.check({{"user", "bob"}}).allowed());
}

TEST_P(Callbacks, are_not_called_for_a_request_that_is_an_error) {
  Limits limits = Limits::from_text("version: 1\nlimits: { user: { by: [user], rate: 2/h } }\n", store_);
  const Attribute twice[] = {{"user", "ann"}, {"user", "bob"}};
  EXPECT_THROW(limits.check({twice}, [](const LimitsResult&) { FAIL(); }), std::invalid_argument);
  EXPECT_THROW(limits.reserve({twice}, [](const LimitsReserveResult&) { FAIL(); }), std::invalid_argument);
}

TEST(LimitsOfThisProcess, tell_a_callback_inside_the_call) {
  Limits limits = Limits::from_text("version: 1\nlimits: { user: { by: [user], rate: 1/h } }\n");
  const Attribute asks[] = {{"user", "ann"}};
  std::string said;
  for (int i = 0; i < 2; ++i)
    limits.check({asks}, [&](const LimitsResult& told) { said += told->allowed() ? "allowed " : "denied "; });
  limits.reserve({asks}, {.max_wait = 2h}, [&](const LimitsReserveResult& told) {
    said += told->granted() ? "granted by " + told->by : "not granted";
  });
  EXPECT_EQ(said, "allowed denied granted by user");
  EXPECT_THROW(limits.check({asks}, [](const LimitsResult&) { throw std::runtime_error("its own"); }),
               std::runtime_error);
}

// The callback owns it, and goes when it has been called.
TEST_P(Callbacks, what_it_owns_goes_without_waiting) {
  SharedLimiter slow{Quota::per_hour(1), store_};
  EXPECT_TRUE(slow.check("key").allowed());
  std::promise<void> called;
  slow.check("other", [&called, mine = slow.reserve("key", {.max_wait = 2h})](const SharedResult&) {
    EXPECT_TRUE(mine.granted());
    called.set_value();
  });
  called.get_future().get();
  while (!slow.reserve("key", {.max_wait = 1h}).granted()) std::this_thread::yield();
}

TEST_P(Callbacks, that_throws_is_counted_and_the_store_goes_on) {
  const auto throws = [](const auto&) { throw std::runtime_error("of the callback"); };
  const SharedCheck checks[] = {{limiter_, "key"}};
  for (int i = 1; i <= 3; ++i) {
    EXPECT_NO_THROW(limiter_.check("key", throws));
    EXPECT_NO_THROW(store_.check_all(checks, throws));
    EXPECT_EQ(limiter_.check("key", Cost{0}).remaining, 10 - 2 * i);
    EXPECT_EQ(store_.thrown(), 2U * static_cast<unsigned>(i));
    EXPECT_EQ(thrown_, 2 * i);
  }
}

TEST_P(Callbacks, that_throws_is_counted_where_nobody_asks_for_its_exceptions) {
  RedisStore store{GetParam()};
  SharedLimiter limiter{Quota::per_hour(10), store};
  limiter.check("key", [](const SharedResult&) { throw 42; });
  EXPECT_EQ(limiter.check("key").remaining, 8);
  EXPECT_EQ(store.thrown(), 1U);
}

TEST_P(Callbacks, that_destroys_its_store_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto destroy = [] {
    auto store = std::make_unique<RedisStore>(GetParam());
    SharedLimiter limiter{Quota::per_hour(10), *store};
    limiter.check("key", [&](const SharedResult&) { store.reset(); });
    std::this_thread::sleep_for(1min);
  };
  EXPECT_DEATH(destroy(), "weir::RedisStore: destroyed by a callback of its own");
}

INSTANTIATE_TEST_SUITE_P(Stores, Callbacks, testing::Values("memory:", "redis://127.0.0.1:1"),
                         [](const auto& each) { return std::string(each.index == 0 ? "memory" : "redis"); });

}  // namespace
}  // namespace weir
