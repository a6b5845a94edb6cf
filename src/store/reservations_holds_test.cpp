// Which holds of a key are listed where there are more than anybody looks at, and after a restart.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::reservations_holds_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

struct Listed {
  EmbeddedStore store{64_MiB, WhenFull::deny, {1, 2}};
  nanoseconds now = 1000s;
  Limit limit{.rule = core::Rule::parse("1000000/s burst 1000000").value(), .id = 7};

  void submit(Request& request) {
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
  }
  std::string reserve(nanoseconds hold, std::string address = "") {
    Check check{.limit = &limit, .key = "k", .cost = Cost{1}};
    ReservationTerms terms{.hold = hold, .address = std::move(address)};
    Request request{.checks = {&check, 1}, .verb = Verb::reserve, .reservation = &terms};
    submit(request);
    return terms.id;
  }
  std::vector<OpenHold> holds(std::size_t most) {
    Check check{.limit = &limit, .key = "k"};
    ReservationTerms terms{.most = most};
    Request request{.checks = {&check, 1}, .verb = Verb::holds, .reservation = &terms};
    submit(request);
    return terms.open;
  }
};

TEST(ReservationsHolds, of_many_those_are_listed_that_end_first_and_in_their_order) {
  for (const char* const rule : {"1000000/s burst 1000000", "in_flight=100000"}) {
    Listed world;
    world.limit.rule = rule[0] == 'i' ? core::Rule::slots("100000").value() : core::Rule::parse(rule).value();
    std::vector<std::string> ids;
    for (int i = 0; i < 3000; ++i) {
      ids.push_back(world.reserve(60s));
      world.now += 1us;
    }
    const std::vector<OpenHold> open = world.holds(OpenHold::kMost);
    ASSERT_EQ(open.size(), OpenHold::kMost) << rule;
    for (std::size_t i = 0; i < open.size(); ++i) ASSERT_EQ(open[i].id, ids[i]) << rule << " " << i;
    EXPECT_EQ(world.holds(2)[1].id, ids[1]);
  }
}

// Who asks uses its terms again.
TEST(ReservationsHolds, that_were_full_are_not_told_of_in_the_next_answer) {
  Listed world;
  world.limit.holding = {.settles = true, .at_most = 1};
  world.reserve(60s);
  ReservationTerms terms{.hold = 60s};
  Check check{.limit = &world.limit, .key = "k", .cost = Cost{1}};
  Request request{.checks = {&check, 1}, .verb = Verb::reserve, .reservation = &terms};
  world.submit(request);
  EXPECT_FALSE(request.allowed());
  EXPECT_GT(terms.full_for, 0s);
  const Limit rate{.rule = core::Rule::parse("1/1000s burst 1").value(), .id = 8};
  Check other{.limit = &rate, .key = "k", .cost = Cost{1}};
  terms.hold = 0s;
  for (const bool allowed : {true, false}) {
    Request next{.checks = {&other, 1}, .verb = Verb::reserve, .reservation = &terms};
    world.submit(next);
    EXPECT_EQ(next.allowed(), allowed);
    EXPECT_EQ(terms.full_for, 0s);
  }
}

TEST(ReservationsHolds, says_whose_it_is_and_after_a_restart_no_more) {
  Listed one;
  const std::string id = one.reserve(60s, "192.0.2.1:50000");
  ASSERT_EQ(one.holds(9).size(), 1U);
  EXPECT_EQ(one.holds(9)[0].address, "192.0.2.1:50000");
  std::string bytes;
  one.store.reservations().copy(one.now, [&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  Listed other;
  other.now = 5000s;
  ASSERT_TRUE(other.store.reservations().restore(bytes, other.now, other.now));
  const std::vector<OpenHold> open = other.holds(9);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].id, id);
  EXPECT_EQ(open[0].ends, 60s);
  EXPECT_EQ(open[0].address, "");
}

}  // namespace
}  // namespace weir::store::reservations_holds_test
