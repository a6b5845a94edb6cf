// Every store, every property of the contract. A new store is one more line of stores().
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "conformance/acquiring_world.hpp"
#include "conformance/embedded_world.hpp"
#include "conformance/fallback_world.hpp"
#include "conformance/later.hpp"
#include "conformance/limiter_world.hpp"
#include "conformance/logging_world.hpp"
#include "conformance/redis_world.hpp"
#include "conformance/sabotage.hpp"
#include "conformance/simulated_redis.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

template <class Kind>
std::unique_ptr<World> make() {
  return std::make_unique<Kind>();
}

// The Redis store: with a simulated Redis, or with a server of the test's own where there is one.
template <class Redis>
std::function<std::unique_ptr<World>()> with(bool cluster, Sharing sharing) {
  return [=]() -> std::unique_ptr<World> {
    if (std::is_same_v<Redis, RealRedis> && !RealRedis::available()) return nullptr;
    return std::make_unique<RedisWorld>(std::make_unique<Redis>(), cluster, sharing);
  };
}

// A store in which requests wait, around another.
std::function<std::unique_ptr<World>()> acquiring(const std::function<std::unique_ptr<World>()>& around) {
  return [=]() -> std::unique_ptr<World> {
    std::unique_ptr<World> inner = around();
    return inner ? std::make_unique<AcquiringWorld>(std::move(inner)) : nullptr;
  };
}

struct NamedStore {
  const char* name;
  std::function<std::unique_ptr<World>()> make;
};

void PrintTo(const NamedStore& store, std::ostream* out) { *out << store.name; }

std::vector<NamedStore> stores() {
  const Sharing alone;
  const Sharing merged{.merge = true};
  return {{"embedded", make<EmbeddedWorld>},
          {"embedded_answered_later", make<LaterWorld<>>},
          {"with_logs", make<LoggingWorld>},
          {"limiter", make<LimiterWorld>},
          {"fallback", make<FallbackWorld>},
          {"redis_simulated", with<SimulatedRedis>(false, alone)},
          {"redis_simulated_merging", with<SimulatedRedis>(false, merged)},
          {"redis_simulated_cluster", with<SimulatedRedis>(true, alone)},
          {"redis_server", with<RealRedis>(false, alone)},
          {"redis_server_merging", with<RealRedis>(false, merged)},
          {"redis_server_as_cluster", with<RealRedis>(true, alone)},
          {"acquiring_embedded", acquiring(make<EmbeddedWorld>)},
          {"acquiring_redis_simulated", acquiring(with<SimulatedRedis>(false, alone))},
          {"redis_server_acquiring", acquiring(with<RealRedis>(false, alone))}};
}

std::vector<std::string> violations_of(World& world, const Property& property, std::string& skipped,
                                       bool is_slow = false) {
  Trial trial(world);
  trial.is_slow = is_slow;
  try {
    property.try_on(trial);
  } catch (const NotHere& why) {
    trial.skipped = why.what();
  }
  skipped = trial.skipped;
  return trial.violations;
}

// A Redis takes most of the time, and each check draws other traces.
bool is_slow(std::string_view store) { return store.find("redis") != std::string_view::npos; }

class Conformance : public testing::TestWithParam<std::tuple<NamedStore, Property>> {};

TEST_P(Conformance, holds) {
  const auto& [store, property] = GetParam();
  const std::unique_ptr<World> world = store.make();
  if (!world) GTEST_SKIP() << "there is no redis-server";
  std::string skipped;
  for (const std::string& violation : violations_of(*world, property, skipped, is_slow(store.name)))
    ADD_FAILURE() << violation;
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

INSTANTIATE_TEST_SUITE_P(Store, Conformance,
                         testing::Combine(testing::ValuesIn(stores()), testing::ValuesIn(all_properties())),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "_" +
                                  std::get<1>(each.param).name;
                         });

// Skipping is for what they have no call for.
TEST(Worlds, of_one_limit_and_of_the_fallback_are_asked_as_much_as_they_can_be_asked) {
  struct Row {
    std::unique_ptr<World> (*make)();
    int least;
  };
  for (const Row& row : {Row{make<LimiterWorld>, 95}, Row{make<FallbackWorld>, 115}}) {
    int asked = 0;
    for (const Property& property : all_properties()) {
      std::string skipped;
      violations_of(*row.make(), property, skipped);
      asked += skipped.empty() ? 1 : 0;
    }
    EXPECT_GE(asked, row.least);
  }
}

// ------------------------------------------------------------------------------------------- the suite
// itself

struct Sabotage {
  const char* name;
  std::unique_ptr<World> (*make)();
  const char* found_by;
};

class Sabotaged : public testing::TestWithParam<Sabotage> {};

TEST_P(Sabotaged, is_found_out) {
  const Sabotage& sabotage = GetParam();
  bool known = false;
  for (const Property& property : all_properties()) {
    if (std::string_view(property.name) != sabotage.found_by) continue;
    known = true;
    const std::unique_ptr<World> world = sabotage.make();
    std::string skipped;
    EXPECT_FALSE(violations_of(*world, property, skipped).empty());
  }
  EXPECT_TRUE(known) << "no property is named " << sabotage.found_by;
}

template <class Kind>
Sabotage sabotage(const char* name, const char* found_by) {
  return {name, make<LaterWorld<Kind>>, found_by};
}

INSTANTIATE_TEST_SUITE_P(
    Store, Sabotaged,
    testing::Values(
        sabotage<ChargesOnDenial>("charges_on_denial", "a_denial_takes_nothing_and_its_wait_is_enough"),
        sabotage<LosesOneOfAllOrNone>("loses_one_of_all_or_none", "when_all_are_allowed_all_are_charged"),
        sabotage<ChargesEachAlone>("charges_each_alone", "when_one_is_not_allowed_none_is_charged"),
        sabotage<AnswersTwice>("answers_twice", "the_sixteen_rows"),
        sabotage<AnswersAfterCancel>("answers_after_cancel", "a_cancelled_request_is_not_answered"),
        sabotage<AnswersInsideSubmit>("answers_inside_submit", "the_sixteen_rows"),
        sabotage<ForgetsToAnswer>("forgets_to_answer", "a_batch_is_decided_in_order"),
        sabotage<DecidesTheLastFirst>("decides_the_last_first",
                                      "batches_are_decided_in_the_order_in_which_they_came"),
        sabotage<ReadsKeysLate>("reads_keys_late", "a_batch_is_decided_in_order"),
        sabotage<KeepsTheDeciderOfBefore>("keeps_the_decider_of_before",
                                          "an_answer_keeps_nothing_of_the_one_before"),
        sabotage<IgnoresTheId>("ignores_the_id", "limits_of_one_key_have_separate_states"),
        sabotage<IdentifiesByNumbers>("identifies_by_numbers", "changed_numbers_keep_the_debt_in_units"),
        sabotage<RecountsOnDenial>("recounts_on_denial",
                                   "what_is_not_admitted_changes_nothing_for_other_numbers"),
        sabotage<KeepsNothingFree>("keeps_nothing_free", "a_class_leaves_its_part_of_the_burst_free"),
        sabotage<MonthsOf30Days>("months_of_30_days", "a_window_of_the_calendar_ends_when_the_calendar_says"),
        sabotage<EnforcesShadows>("enforces_shadows", "a_shadow_check_stops_nobody_and_decides_nothing"),
        sabotage<AlwaysBorrows>("always_borrows", "a_guaranteed_request_uses_what_others_keep_free"),
        sabotage<ChargesShadowsOfTheDenied>("charges_shadows_of_the_denied",
                                            "a_guarantee_is_charged_only_with_the_request"),
        sabotage<LooksCharge>("looks_charge", "a_look_tells_what_a_check_would_be_told"),
        sabotage<LooksTakeOne>("looks_take_one", "a_look_takes_nothing_and_always_passes"),
        sabotage<GivesBackWhatHasDrained>("gives_back_what_has_drained", "what_has_not_drained_comes_back"),
        sabotage<GivesNothingBack>("gives_nothing_back", "all_of_a_request_comes_back_at_once"),
        sabotage<CountsEveryResetKey>("counts_every_reset_key",
                                      "a_reset_of_many_keys_counts_those_that_had_something"),
        sabotage<IgnoresMaxWait>("ignores_max_wait",
                                 "reservations_have_a_moment_each_in_the_order_in_which_they_came"),
        sabotage<ReservesWithoutCharging>("reserves_without_charging", "a_check_overtakes_no_reservation"),
        sabotage<ReservesTheFirstLimitAlone>("reserves_the_first_limit_alone", "all_or_none_are_reserved"),
        sabotage<LooksAtNobodyWhoWaits>("looks_at_nobody_who_waits", "who_fits_makes_nobody_late"),
        sabotage<PausesAreDebts>("pauses_are_debts", "no_settlement_shortens_a_pause"),
        sabotage<LetsPausedOnesAct>("lets_paused_ones_act", "who_was_told_a_moment_in_a_pause_begins_again"),
        sabotage<LetsEveryClassWait>("lets_every_class_wait",
                                     "a_class_that_leaves_something_free_does_not_wait"),
        sabotage<KeepsWhatWasCancelled>("keeps_what_was_cancelled",
                                        "the_last_reservation_goes_back_whole_and_once"),
        sabotage<CancelsTwice>("cancels_twice", "the_last_reservation_goes_back_whole_and_once"),
        sabotage<HandsAMomentOutTwice>("hands_a_moment_out_twice",
                                       "the_promise_holds_at_the_moments_of_acting"),
        sabotage<SettlesNothing>("settles_nothing", "what_cost_less_goes_back_and_what_cost_more_is_owed"),
        sabotage<ChargesOnlyWhatHasRoom>("charges_only_what_has_room",
                                         "what_happened_outside_is_charged_without_room"),
        sabotage<ChargesTheOthers>("charges_the_others", "where_one_is_over_it_is_charged_and_no_other"),
        sabotage<LooksStopNobody>("looks_stop_nobody", "a_look_that_is_over_leaves_the_others_free"),
        sabotage<TakesWhatIsLeftForACost>("takes_what_is_left_for_a_cost",
                                          "what_is_left_outside_is_no_more_here"),
        sabotage<LowersWhatIsOwed>("lowers_what_is_owed", "what_is_left_outside_is_no_more_here"),
        sabotage<RefundsWhatIsHeld>("refunds_what_is_held", "a_refund_leaves_what_is_held_and_all_after_it"),
        sabotage<DropsNothing>("drops_nothing", "what_lies_beyond_the_overdraft_is_dropped"),
        sabotage<TakesTheLeast>("takes_the_least", "the_greatest_number_that_every_check_admits_is_granted"),
        sabotage<HoldsForever>("holds_forever", "an_estimate_stands_when_nobody_settles_it"),
        sabotage<HoldsAnyNumber>("holds_any_number", "more_than_may_be_held_is_not_held"),
        sabotage<ResetsForgetNoReservation>("resets_forget_no_reservation",
                                            "an_id_dies_with_what_it_charged"),
        Sabotage{"answers_acquires_at_once", make<HastyWorld>,
                 "an_acquire_is_answered_when_its_moment_has_come"},
        Sabotage{"keeps_the_place_of_who_left", make<KeepsThePlaceOfWhoLeft>,
                 "who_goes_away_leaves_the_moment_to_the_next"},
        Sabotage{"forgets_patience", make<ForgetsPatienceWorld>,
                 "an_answer_takes_no_longer_than_the_askers_patience"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace weir::store::conformance
