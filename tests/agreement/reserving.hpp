// A store of this process and what reserves in it, in whole nanoseconds, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1 {

// `cost` units of one key under one limit.
struct Ask {
  const store::Limit* limit;
  std::string key;
  std::uint64_t cost = 1;
  // As store::Check has them.
  bool shadow = false;
  std::uint8_t inside = store::Check::kNoGuarantee;
};

// One request after another, each answered at once.
class Reserving {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Told {
    bool granted = false;
    std::int64_t wait = 0;  // as store::ReservationTerms::wait
    std::string id{};
    std::uint8_t by = 0;
    std::vector<Decision> decisions{};
  };

  Told reserve(const std::vector<Ask>& asks, std::int64_t now, std::int64_t max_wait, std::int64_t hold = 0) {
    store::ReservationTerms reservation{.max_wait = nanoseconds{max_wait}, .hold = nanoseconds{hold}};
    Told told = submit(asks, store::Verb::reserve, &reservation, now);
    told.wait = reservation.wait.count();
    told.id = reservation.id;
    return told;
  }
  Told check(const std::vector<Ask>& asks, std::int64_t now) {
    return submit(asks, store::Verb::check, nullptr, now);
  }
  Told look(const std::vector<Ask>& asks, std::int64_t now) {
    return submit(asks, store::Verb::look, nullptr, now);
  }
  std::uint64_t reset(const Ask& ask, std::int64_t now) {
    std::vector<store::Check> checks{{.limit = ask.limit, .key = ask.key}};
    store::Request request{.checks = checks, .verb = store::Verb::reset};
    submit(request, now);
    return request.forgotten;
  }
  std::uint64_t cancel(const std::string& id, std::int64_t now) {
    store::ReservationTerms reservation{.id = id};
    submit({}, store::Verb::cancel, &reservation, now);
    return reservation.given_back;
  }
  // -2: it was granted without a hold.
  std::int64_t settle(const std::string& id, std::uint64_t actual, std::int64_t now) {
    store::ReservationTerms reservation{.id = id, .actual = actual};
    store::Request request{.verb = store::Verb::settle, .reservation = &reservation};
    store::Request* const batch[] = {&request};
    store_.submit(batch, {nanoseconds{now}, nanoseconds{now}});
    if (request.fault == Fault::none) return reservation.wait.count();
    EXPECT_EQ(request.why, "the reservation was granted without a hold, so there is nothing to settle");
    return -2;
  }

 private:
  Told submit(const std::vector<Ask>& asks, store::Verb verb, store::ReservationTerms* reservation,
              std::int64_t now) {
    std::vector<store::Check> checks;
    for (const Ask& each : asks)
      checks.push_back({.limit = each.limit,
                        .key = each.key,
                        .cost = Cost{each.cost},
                        .shadow = each.shadow,
                        .inside = each.inside});
    store::Request request{.checks = checks, .verb = verb, .reservation = reservation};
    submit(request, now);
    Told told{.by = request.by};
    for (const store::Check& each : checks) told.decisions.push_back(each.decision);
    told.granted = !checks.empty() && request.allowed();
    return told;
  }
  void submit(store::Request& request, std::int64_t now) {
    store::Request* const batch[] = {&request};
    store_.submit(batch, {nanoseconds{now}, nanoseconds{now}});
    EXPECT_EQ(request.state, store::Request::State::answered);
    EXPECT_EQ(request.fault, Fault::none) << request.why;
  }

  store::EmbeddedStore store_{std::size_t{8} << 20};
};

}  // namespace weir
