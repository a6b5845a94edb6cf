// Every verb of the seam x every algorithm x what can happen to the place where the states are: one table,
// whose verdicts an oracle says (oracle.hpp). A verb or an algorithm without its row does not compile.
//
// Where a case goes on from a snapshot or a takeover, or beside a limit in shadow, all that is told is what
// is told where nothing has happened, or where the limit is not there.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "verbs/asking.hpp"
#include "verbs/oracle.hpp"
#include "verbs/places.hpp"
#include "verbs/questions.hpp"

namespace weir::inline v0_1::verbs {
namespace {

using store::conformance::RealRedis;
using store::conformance::SimulatedRedis;

std::vector<WhenFull> when_full_in(State state) {
  if (state == State::full_table || state == State::away_and_full) return {WhenFull::deny, WhenFull::allow};
  return {WhenFull::deny};
}
std::vector<OnStoreError> on_store_error_in(State state) {
  if (state == State::store_away) return {OnStoreError::local, OnStoreError::allow, OnStoreError::deny};
  return {OnStoreError::local};
}

// Those that find nothing under their key come first: others give keys back.
std::vector<Case> cases_in(State state, const Can& can) {
  std::vector<Case> all;
  for (const Before before : kEveryBefore)
    for (const Algorithm algorithm : every_algorithm())
      for (const Way& way : every_way())
        for (const WhenFull full : when_full_in(state))
          for (const OnStoreError error : on_store_error_in(state)) {
            Case asked{way, algorithm, before, full, error};
            if (exists(asked, state, can)) all.push_back(std::move(asked));
          }
  return all;
}

// Until every place is taken.
void fill(store::EmbeddedStore& store, nanoseconds now) {
  const store::Limit limit{.rule = core::Rule::parse("1/d").value(), .id = 99};
  const store::Table& table = store.table();
  for (int i = 0; table.live(now) < table.capacity() && i < 2'000'000;) {
    for (const int end = i + 500; i < end; ++i) {
      const std::string key = std::to_string(i);
      store::Check check{.limit = &limit, .key = key};
      store::Request request{.checks = {&check, 1}};
      store::Request* const batch[] = {&request};
      store.submit(batch, {now, now});
    }
  }
  ASSERT_EQ(table.live(now), table.capacity());
}

void disturb(Place& place, State state) {
  switch (state) {
    case State::undisturbed:
    case State::shadow:
      return;
    case State::full_table:
      return fill(place.table(), place.world().now());
    case State::snapshot:
      return place.go_on(false);
    case State::takeover:
      return place.go_on(true);
    case State::away_and_full:
      fill(place.table(), place.world().now());
      [[fallthrough]];
    case State::store_away:
      ASSERT_TRUE(place.world().fall_silent());
  }
}

std::vector<Outcome> answers(Place& place, const std::vector<Case>& cases, State state, Asking::Of of) {
  Asking asking(place);
  std::vector<std::string> ids;
  for (const Case& each : cases) ids.push_back(asking.prepare(each, of));
  disturb(place, state);
  std::vector<Outcome> all;
  for (std::size_t i = 0; i < cases.size(); ++i) all.push_back(asking.answer(cases[i], of, ids[i]));
  return all;
}

struct Where {
  const char* name;
  std::function<std::unique_ptr<Place>()> make;
};
void PrintTo(const Where& where, std::ostream* out) { *out << where.name; }

template <class Redis>
std::unique_ptr<Place> with() {
  return std::make_unique<RedisPlace>(std::make_unique<Redis>());
}

std::vector<Where> everywhere() {
  return {{"embedded", [] { return std::make_unique<TablePlace>(); }},
          {"redis_simulated", with<SimulatedRedis>},
          {"redis_server", [] { return RealRedis::available() ? with<RealRedis>() : nullptr; }}};
}

std::vector<State> every_state() {
  return every<State>([](State each) { return name_of(each) != nullptr; });
}

bool is_of_stores_alone(State state) { return state == State::store_away || state == State::away_and_full; }

class Verbs : public testing::TestWithParam<std::tuple<Where, State>> {
 protected:
  // What is wrong with an answer; empty: nothing is.
  static std::string wrong(const Case& asked, State state, const Can& can, const Outcome& is,
                           const Outcome* otherwise) {
    const Answer should = expected(asked, state, can);
    std::ostringstream text;
    if (is.answer != should) text << "is " << is.answer << " (" << is.told << "), should be " << should;
    const bool in_full = state == State::full_table || state == State::away_and_full;
    const bool uncounted = in_full && should == Answer::yes && asked.when_full == WhenFull::allow &&
                           asked.before == Before::nothing && !core::counts_slots(asked.algorithm) &&
                           (state == State::away_and_full || !can.shared);
    if (uncounted && asked.way.does == Does::decides && is.left != kMost)
      text << "; is counted, " << is.left << " left";
    const bool is_held = is_held_beside(asked) && (refunds(asked.way) || asked.before == Before::returned);
    const bool as_otherwise =
        otherwise != nullptr && !(state == State::shadow && (is_held || is_by_id(asked.way.verb)));
    if (as_otherwise && should != Answer::refused && is.text() != otherwise->text())
      text << "; told " << is.text() << ", should be " << otherwise->text();
    return text.str();
  }
};

TEST_P(Verbs, are_told_what_the_oracle_says) {
  const auto& [where, state] = GetParam();
  const auto place = where.make();
  if (!place) GTEST_SKIP() << "there is no redis-server";
  const Can can = place->can();
  if (is_of_stores_alone(state) && !can.shared) GTEST_SKIP() << "its states cannot be away";
  const std::vector<Case> cases = cases_in(state, can);
  const auto told =
      answers(*place, cases, state, state == State::shadow ? Asking::Of::shadow : Asking::Of::own);
  std::vector<Outcome> otherwise;
  if (state == State::snapshot || state == State::takeover || state == State::shadow) {
    const auto twin = where.make();
    otherwise = answers(*twin, cases, State::undisturbed,
                        state == State::shadow ? Asking::Of::roomy : Asking::Of::own);
  }
  std::size_t wrongs = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string what =
        wrong(cases[i], state, can, told[i], otherwise.empty() ? nullptr : &otherwise[i]);
    if (what.empty()) continue;
    if (++wrongs <= 40) ADD_FAILURE() << cases[i].name() << ": " << what;
  }
  EXPECT_EQ(wrongs, 0U) << "of " << cases.size() << " cases";
}

INSTANTIATE_TEST_SUITE_P(In, Verbs,
                         testing::Combine(testing::ValuesIn(everywhere()), testing::ValuesIn(every_state())),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "_" +
                                  name_of(std::get<1>(each.param));
                         });

}  // namespace
}  // namespace weir::verbs
