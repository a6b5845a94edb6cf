// Built once for each CASE by tests/wont_compile/run: 0 must compile, the others must not.
#include <weir/limiter.hpp>

#if CASE == 0
weir::Limiter limiter{weir::Quota::per_minute(100).with_burst(20)};
weir::LocalStore store;
bool used(weir::KeyedLimiter& one) {
  return limiter.check().allowed() && one.check("key", weir::Quota::per_day(1)).allowed() &&
         store.check_all({{one, "key"}, {one, "other", weir::Cost{2}}}).allowed();
}
weir::KeyedLimiter keyed{weir::Quota::per_minute(100), {.algorithm = weir::Algorithm::fixed_window}};
weir::ManualClock hand;
weir::Limiter by_hand{weir::Quota::per_minute(1), hand};
weir::Limiter in_years{weir::Quota::per(100, std::chrono::years{200})};
int count = 3;
weir::Limiter of_numbers{weir::Quota::of({count, std::chrono::minutes{1}})};
#elif CASE == 1
weir::Limiter limiter{weir::Quota::per_minute(0)};
#elif CASE == 2
weir::Limiter limiter{weir::Quota::per_minute(-1)};
#elif CASE == 3
weir::Limiter limiter{weir::Quota::per_minute(1).with_burst(0)};
#elif CASE == 4
weir::Limiter limiter{weir::Quota::per_second(3'000'000)};  // slowed by more than 0.1 %
#elif CASE == 5
weir::Limiter limiter{weir::Quota::per_second(10'000'000'000)};
#elif CASE == 6
weir::Limiter limiter{weir::Quota::per_day(1).with_burst(1'000'000)};  // longer than 2^63 ns
#elif CASE == 7
int count = 3;
weir::Limiter limiter{weir::Quota::per_minute(count)};  // numbers of run time go through make()
#elif CASE == 8
auto decision = weir::Limiter{weir::Quota::per_minute(1)}.check(weir::Cost{-1});
#elif CASE == 9
weir::Limiter limiter{weir::Quota::make({1, std::chrono::seconds{1}})};  // unchecked
#elif CASE == 11
auto quota = weir::Quota::per_minute(100).burst(20);  // the getter; with_burst() sets
#elif CASE == 12
void discards(weir::Limiter& limiter) { limiter.check(); }
#elif CASE == 13
void discards(weir::KeyedLimiter& limiter) { limiter.check("key"); }
#elif CASE == 14
void discards(weir::LocalStore& store, weir::KeyedLimiter& limiter) { store.check_all({{limiter, "key"}}); }
#elif CASE == 15
void discards(weir::Limiter& limiter) { weir::check_all({{limiter}}); }
#elif CASE == 16
auto copied(const weir::KeyedLimiter& limiter) { return weir::KeyedLimiter(limiter); }
#elif CASE == 17
weir::Limiter limiter{weir::Quota::per(100, std::chrono::years{600})};  // longer than nanoseconds hold
#elif CASE == 18
weir::Limiter limiter{weir::Quota::per_minute(1), weir::ManualClock{}};  // the clock would be gone at once
#elif CASE == 19
const weir::ManualClock made();
weir::Limiter limiter{weir::Quota::per_minute(1), made()};
#elif CASE == 20
weir::KeyedLimiter limiter{weir::Quota::per_minute(1), {.clock = &weir::ManualClock{}}};
#elif CASE == 21
auto decision =
    weir::Limiter{weir::Quota::per_minute(1)}.check_at(std::chrono::seconds{5});  // it has a Clock
#elif CASE == 22
void discards() { weir::Quota::of("100/min"); }
#elif CASE == 10
weir::Limiter limiter{weir::Quota::per_minute(1), weir::Algorithm::fixed_window};  // it counts by gcra
#endif
