// Reservations in Redis are those of the embedded store: random traces through four processes that share one
// Redis, answer by answer, and the bound over all spans by brute force. So reserve.lua is held to src/store.
// The time is handed in. WEIR_LONG=1 takes more traces; WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement/shrinking.hpp"
#include "agreement/spans.hpp"
#include "conformance/redis_world.hpp"
#include "core/chance_test.hpp"
#include "redis/reserve_script.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::redis_reserving_test {
namespace {

using namespace questions;
using store::conformance::RealRedis;
using store::conformance::RedisWorld;

constexpr std::size_t kProcesses = 4;
constexpr std::int64_t kUs = 1'000;

class Embedded final : public questions::Subject {
 public:
  explicit Embedded(const std::int64_t& now) : now_(now) {}
  void submit(Request& request, std::size_t) override {
    Request* const batch[] = {&request};
    store_.submit(batch, {nanoseconds{now_}, nanoseconds{now_}});
  }

 private:
  const std::int64_t& now_;
  store::EmbeddedStore store_{std::size_t{8} << 20};
};

class InRedis final : public questions::Subject {
 public:
  explicit InRedis(const std::int64_t& now, const std::string& script = "") : now_(now) {
    // What another process does is noticed late where denials are remembered.
    for (auto& each : processes_)
      each = std::make_unique<RedisWorld>(std::make_unique<RealRedis>(script), false, store::Sharing{},
                                          redis::SharedStore::Options{.remember_denials = false});
  }
  void submit(Request& request, std::size_t process) override {
    RedisWorld& world = *processes_[process];
    world.advance(nanoseconds{now_} - world.now());
    Request* const batch[] = {&request};
    world.store().submit(batch, {world.now(), world.now()});
    world.settle();
  }
  std::int64_t began() const { return processes_[0]->now().count(); }

 private:
  const std::int64_t& now_;
  std::array<std::unique_ptr<RedisWorld>, kProcesses> processes_;
};

// What acts, as granted by one limit under the same numbers; costs in nanoseconds of T.
struct Account {
  std::int64_t burst;
  std::int64_t interval;
  bool settles;
  struct Act {
    std::int64_t at;
    std::int64_t charged;
    std::size_t id;  // kNone: none
  };
  std::vector<Act> acts{};

  bool is_kept() const {
    std::vector<Admitted> admitted;
    for (const Act& each : acts) admitted.push_back({each.at, each.charged});
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return kept(admitted, burst * interval, 1);
  }
};
constexpr std::int64_t kNever = -1;

class Trace {
 public:
  Trace(core::Chance& chance, std::int64_t& now, questions::Subject& redis, questions::Subject* embedded,
        int number)
      : chance_(chance), now_(now), redis_(redis), embedded_(embedded), key_(std::to_string(number)) {
    first_id_ = redis.ids();
    limits_.assign(static_cast<std::size_t>(1 + chance.up_to(2)), {.rule = {Quota::per_second(1)}});
    accounts_.resize(limits_.size());
    has_slots_ = limits_.size() > 1 && chance.up_to(1) == 0;
    pauses_ = chance.up_to(1) == 0;
    refunds_ = chance.up_to(3) == 0;
    for (std::size_t i = 0; i < limits_.size(); ++i) change(i);
    most_wait_ = chance.up_to(200) * kUs;
    most_ticks_ = 1 + chance.up_to(20);
  }

  void step() {
    const std::int64_t what = chance_.up_to(19);
    const std::size_t ids = redis_.ids() - first_id_;
    Asked asked{.verb = Verb::reserve};
    if (ids > 0) asked.id = first_id_ + chance_() % ids;
    if (what < 5) {
      find_moments();
      now_ += chance_.up_to(most_ticks_) * kUs;
      return;
    }
    if (what < 11) {
      asked.max_wait = time_up_to(most_wait_);
      asked.hold = chance_.up_to(2) == 0 ? time_up_to(100 * kUs) : 0;
      fill(asked);
      if (takes_slots(asked)) asked.hold += kUs;
      const Answer answer = ask(asked);
      if (!answer.granted) return;
      EXPECT_LE(answer.wait, asked.max_wait);
      act(asked, now_ + answer.wait, answer.has_id ? redis_.ids() - 1 : kNone);
      if (answer.has_id && asked.hold > 0) held_.insert(redis_.ids() - 1);
    } else if (what < 13) {
      if (chance_.up_to(3) == 0) return take(asked);
      asked.verb = chance_.up_to(3) == 0 ? Verb::look : Verb::check;
      fill(asked);
      if (ask(asked).granted && asked.verb == Verb::check) act(asked, now_, kNone);
    } else if (what < 16) {
      if (ids > 0) cancel(asked);
    } else if (what < 18) {
      if (ids > 0) settle(asked);
    } else if (what == 18) {
      if (chance_.up_to(7) == 0) return reset(asked);
      charge(asked);
    } else if (what == 19 && chance_.up_to(1) == 0) {
      if (ids > 0) extend(asked);
    } else if (chance_.up_to(3) == 0) {
      change(any());
    }
  }
  bool is_kept() {
    find_moments();
    // One that a pause of one limit has moved acts late at its others.
    if (refunded_ || (pauses_ && limits_.size() > (has_slots_ ? 2U : 1U))) return true;
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      for (const Account& each : accounts_[i]) {
        if (each.is_kept()) continue;
        said += "limit " + std::to_string(i) + " burst " + std::to_string(each.burst) + " T " +
                std::to_string(each.interval) + ":";
        for (const auto& act : each.acts)
          said += " " + std::to_string(act.charged / each.interval) + " at " + std::to_string(act.at);
        return false;
      }
    }
    return true;
  }
  std::string said;
  std::vector<Recorded> steps;

 private:
  std::size_t any() { return chance_() % (limits_.size() - (has_slots_ ? 1 : 0)); }
  bool is_slots(std::size_t i) const { return has_slots_ && i + 1 == limits_.size(); }
  bool takes_slots(const Asked& asked) const {
    return !asked.checks.empty() && core::counts_slots(asked.checks.back().limit->rule.algorithm);
  }

  // Slots end by whole us in Redis.
  std::int64_t time_up_to(std::int64_t most) {
    const std::int64_t time = chance_.up_to(most);
    return has_slots_ ? time / kUs * kUs : time;
  }

  // Few intervals, so that a key comes back to one that it had before.
  void change(std::size_t i) {
    if (is_slots(i)) {
      limits_[i] = {.rule = core::Rule::slots(std::to_string(1 + chance_.up_to(2))).value(), .id = 100};
      limits_[i].name = "slots";
      accounts_[i].push_back({1, 1, true});
      return;
    }
    const std::int64_t burst = 1 + chance_.up_to(5);
    const std::int64_t interval = (1 + chance_.up_to(4)) * (has_slots_ ? 4'000 : 3'700);
    store::Limit limit{.rule = {Quota::make({1, nanoseconds{interval}}, burst).value()}, .id = 1 + i};
    limit.name = std::array{"first", "second", "third"}[i];
    if (embedded_ != nullptr && chance_.up_to(5) == 0)
      limit.rule.kept = nanoseconds{time_up_to(burst * interval / 2)};
    if (chance_.up_to(2) == 0) limit.holding.at_most = static_cast<std::uint64_t>(chance_.up_to(burst + 2));
    if (chance_.up_to(5) == 0) limit.holding.settles = false;
    if (pauses_ && chance_.up_to(2) == 0) limit.penalty = some_penalty();
    limits_[i] = limit;
    accounts_[i].push_back({burst, interval, limit.holding.settles});
    said += std::to_string(now_) + ": limit " + std::to_string(i) + " " + text_of(limit) + "\n";
  }

  core::PenaltyTerms some_penalty() {
    core::PenaltyTerms made{.time = nanoseconds{(1 + chance_.up_to(50)) * kUs}};
    if (chance_.up_to(1) == 0) return made;
    // Slots end at a whole microsecond.
    made.growing = static_cast<std::uint32_t>(1000 + (has_slots_ ? 1000 : 250) * chance_.up_to(8));
    made.most = made.time + nanoseconds{time_up_to(500 * kUs)};
    return made;
  }

  void fill(Asked& asked) {
    which_.clear();
    const bool slots = asked.verb == Verb::reserve;
    for (std::size_t i = 0; i < limits_.size(); ++i)
      if ((slots || !is_slots(i)) && chance_.up_to(2) != 0) which_.push_back(i);
    if (which_.empty()) which_.push_back(any());
    for (const std::size_t i : which_) {
      if (is_slots(i)) {
        asked.checks.push_back({.limit = &limits_[i], .key = key_, .cost = Cost{1}});
        continue;
      }
      const auto burst = static_cast<std::uint64_t>(limits_[i].rule.quota.burst());
      const std::uint64_t cost = chance_.up_to(20) == 0 ? chance_() % (burst + 2) : 1 + chance_() % burst;
      asked.checks.push_back({.limit = &limits_[i], .key = key_, .cost = Cost{cost}});
    }
    if (asked.verb == Verb::take || asked.verb == Verb::charge || takes_slots(asked)) return;
    if (embedded_ == nullptr || asked.checks.size() < 2 || chance_.up_to(3) != 0) return;
    asked.checks[0].shadow = true;
    if (chance_.up_to(1) == 0) asked.checks[1].inside = 0;
  }

  Answer ask(const Asked& asked) {
    const std::size_t process = chance_() % kProcesses;
    said += std::to_string(now_) + ": " + text_of(asked);
    Answer answer = redis_.ask(asked, process);
    said += "\n   " + answer.text + "\n";
    if (embedded_ == nullptr) return answer;
    keep_step(asked, process, answer);
    EXPECT_EQ(embedded_->ask(asked, process).text, answer.text);
    return answer;
  }

  void keep_step(const Asked& asked, std::size_t process, const Answer& answer) {
    Recorded& step = steps.emplace_back(now_, asked, process, answer.has_id ? redis_.ids() - 1 : kNone);
    for (const Check& each : asked.checks) step.limits.push_back(*each.limit);
  }

  // As many of what one costs as there are.
  void take(Asked& asked) {
    asked.verb = Verb::take;
    fill(asked);
    for (Check& each : asked.checks) each.cost = Cost{static_cast<std::uint64_t>(1 + chance_.up_to(1))};
    asked.most = static_cast<std::uint64_t>(1 + chance_.up_to(5));
    asked.least = 1 + chance_() % asked.most;
    const Answer answer = ask(asked);
    for (Check& each : asked.checks) each.cost.units *= answer.units;
    if (answer.granted) act(asked, now_, kNone);
  }
  // Some twice, and all by their own costs.
  void charge_others_free(Asked& asked) {
    asked.others_free.emplace();
    asked.outside =
        Outside(Outside::Form::cost, 1, nanoseconds{chance_.up_to(2) == 0 ? 50 * kUs : 1'000'000'000});
    for (std::int64_t left = 1 + chance_.up_to(4); left > 0; --left) {
      const std::size_t i = any();
      if (is_slots(i) || limits_[i].rule.kept.count() != 0) continue;
      const auto bit = static_cast<std::uint16_t>(1 << asked.checks.size());
      // Costs that may not fit are charged, or are not, and neither is counted as an act.
      if (chance_.up_to(2) == 0) asked.others_free->if_it_fits |= bit;
      if (chance_.up_to(3) == 0) asked.others_free->leaves_one |= bit;
      const auto units = static_cast<std::uint64_t>(chance_.up_to(chance_.up_to(5) == 0 ? 12 : 2));
      asked.checks.push_back({.limit = &limits_[i], .key = key_, .cost = Cost{units}});
    }
    if (!asked.checks.empty()) ask(asked);
  }
  void charge(Asked& asked) {
    asked.verb = Verb::charge;
    if (chance_.up_to(2) == 0) return charge_others_free(asked);
    const std::size_t i = any();
    const auto units = static_cast<std::uint64_t>(chance_.up_to(chance_.up_to(5) == 0 ? 30 : 6));
    const nanoseconds overdraft{chance_.up_to(2) == 0 ? time_up_to(50 * kUs) : 1'000'000'000};
    which_ = {i};
    asked.checks.push_back({.limit = &limits_[i], .key = key_, .cost = Cost{units}});
    switch (chance_.up_to(3)) {
      case 0:
        asked.outside = Outside(Outside::Form::remaining, units, overdraft);
        break;
      case 1:
        if (!pauses_) return;
        asked.outside = Outside(Pause{nanoseconds{chance_.up_to(4) == 0 ? 0 : chance_.up_to(100) * kUs},
                                      refunds_ && chance_.up_to(1) == 0});
        // The promise is of what is not forgotten.
        refunded_ = refunded_ || asked.outside.afresh;
        break;
      case 2:
        if (!refunds_) return;
        refunded_ = true;
        asked.outside = detail::refund_of(Cost{units});
        break;
      default:
        if (chance_.up_to(1) == 0) {
          asked.checks.clear();
          fill(asked);
        }
        asked.outside = Outside(Outside::Form::cost, units, overdraft);
    }
    ask(asked);
  }
  void extend(Asked& asked) {
    asked.verb = Verb::extend;
    asked.hold = time_up_to(100 * kUs);
    ask(asked);
  }
  // Of those who have yet to act: a pause has moved them.
  void find_moments() {
    if (!pauses_) return;
    for (auto& of_limit : accounts_) {
      for (Account& each : of_limit) {
        for (auto& act : each.acts) {
          if (act.at <= now_ || act.id == kNone) continue;
          const std::int64_t wait = ask({.verb = Verb::moment, .id = act.id}).wait;
          act.at = wait >= 0 ? now_ + wait : kNever;
        }
        std::erase_if(each.acts, [](const auto& act) { return act.at == kNever; });
      }
    }
  }

  void act(const Asked& asked, std::int64_t at, std::size_t id) {
    for (std::size_t i = 0; i < which_.size(); ++i) {
      if (asked.checks[i].shadow || is_slots(which_[i])) continue;  // it may act without having been charged
      Account& account = accounts_[which_[i]].back();
      account.acts.push_back(
          {at, static_cast<std::int64_t>(asked.checks[i].cost.units) * account.interval, id});
    }
  }
  void cancel(Asked& asked) {
    asked.verb = Verb::cancel;
    if (ask(asked).text == "fault 0  back 0") return;
    for (auto& of_limit : accounts_)
      for (Account& each : of_limit)
        std::erase_if(each.acts, [&](const auto& act) { return act.id == asked.id; });
  }
  // It has acted, or will, with what it turned out to cost; what it cost more nobody was asked for.
  void settle(Asked& asked) {
    asked.verb = Verb::settle;
    const std::int64_t how = chance_.up_to(5);
    const auto units = static_cast<std::uint64_t>(chance_.up_to(chance_.up_to(9) == 0 ? 30 : 3));
    const std::size_t named = any();
    if (how == 0) {  // what was charged
    } else if (how < 3) {
      asked.actuals.push_back({std::string(limits_[named].name), {limits_[named].id}, units});
    } else {
      asked.actual = units;
    }
    const Answer answer = ask(asked);
    if (answer.failed || answer.wait < 0 || how == 0 || !held_.contains(asked.id)) return;
    for (std::size_t i = 0; i < accounts_.size(); ++i) {
      if (how < 3 && i != named) continue;
      for (Account& each : accounts_[i])
        for (auto& act : each.acts)
          if (each.settles && act.id == asked.id)
            act.charged = std::min(act.charged, static_cast<std::int64_t>(units) * each.interval);
    }
  }
  // What was granted before it is forgotten, and with it what it promised.
  void reset(Asked& asked) {
    // How long one lasts that a pause has moved at a limit that is then forgotten is nobody's promise.
    if (pauses_ && limits_.size() > 1) return;
    const std::size_t i = any();
    asked.verb = Verb::reset;
    asked.checks.push_back({.limit = &limits_[i], .key = key_});
    ask(asked);
    for (Account& each : accounts_[i]) each.acts.clear();
  }

  core::Chance& chance_;
  std::int64_t& now_;
  questions::Subject& redis_;
  questions::Subject* embedded_;  // null: nothing is compared
  std::string key_;
  std::size_t first_id_;
  std::int64_t most_wait_, most_ticks_;
  bool has_slots_ = false;  // the last of them
  bool pauses_ = false, refunds_ = false, refunded_ = false;
  std::set<std::size_t> held_;  // ids that can be settled for less
  std::vector<store::Limit> limits_;
  std::vector<std::size_t> which_;
  std::vector<std::vector<Account>> accounts_;  // for each limit, one for each change of its numbers
};

class RedisReserving : public testing::Test {
 protected:
  void SetUp() override {
    if (!RealRedis::available()) GTEST_SKIP() << "there is no redis-server";
  }
};

TEST_F(RedisReserving, four_processes_are_answered_as_by_the_embedded_store) {
  core::Chance chance;
  std::int64_t now = 0;
  InRedis redis(now);
  now = redis.began();
  Embedded embedded(now);
  const int traces = core::Chance::is_long() ? 20'000 : 500;
  for (int number = 0; number < traces; ++number) {
    Trace trace(chance, now, redis, &embedded, number);
    for (int step = 0; step < 60; ++step) {
      trace.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "trace " << number << "\n"
                                                << Shrinking(now, redis, embedded).shrink(trace.steps);
    }
    ASSERT_TRUE(trace.is_kept()) << trace.said;
    now += 1'000'000;
  }
}

TEST_F(RedisReserving, at_the_moments_of_acting_no_span_holds_more_whatever_happens) {
  core::Chance chance;
  std::int64_t now = 0;
  InRedis redis(now);
  now = redis.began();
  const int traces = core::Chance::is_long() ? 5'000 : 125;
  for (int number = 0; number < traces; ++number) {
    Trace trace(chance, now, redis, nullptr, number);
    for (int step = 0; step < 60; ++step) {
      trace.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "trace " << number << "\n" << trace.said;
    }
    ASSERT_TRUE(trace.is_kept()) << "trace " << number << "\n" << trace.said;
    now += 1'000'000;
  }
}

// Rules that are known to be wrong, in the place of the script's own: one short trace shows it for each.
struct Step {
  bool reserves;     // at once, and else cancels
  std::size_t what;  // units; or which reservation, from 0
};

bool keeps_its_promise(const std::string& script, std::int64_t burst, const std::vector<Step>& steps) {
  std::int64_t now = 0;
  InRedis redis(now, script);
  now = redis.began();
  constexpr std::int64_t kInterval = 1'000'000;
  const store::Limit limit{.rule = {Quota::make({1, nanoseconds{kInterval}}, burst).value()}};
  Account account{burst, kInterval, true};
  // One that acts now has no id.
  std::vector<std::size_t> ids;
  for (const Step& step : steps) {
    if (!step.reserves) {
      const std::size_t id = ids.at(step.what);
      EXPECT_NE(redis.ask({.verb = Verb::cancel, .id = id}, id % kProcesses).text, "fault 0  back 0");
      std::erase_if(account.acts, [id](const auto& act) { return act.id == id; });
      continue;
    }
    Asked asked{.verb = Verb::reserve, .max_wait = 100 * kInterval};
    asked.checks.push_back({.limit = &limit, .key = "k", .cost = Cost{step.what}});
    const Answer answer = redis.ask(asked, ids.size() % kProcesses);
    EXPECT_TRUE(answer.granted) << answer.text;
    ids.push_back(answer.has_id ? redis.ids() - 1 : kNone);
    account.acts.push_back({now + answer.wait, static_cast<std::int64_t>(step.what) * kInterval, ids.back()});
  }
  return account.is_kept();
}

std::string sabotaged(const std::vector<std::pair<std::string_view, std::string_view>>& changes) {
  std::string script(redis::reserve_script());
  for (const auto& [after, more] : changes) {
    const std::size_t at = script.find(after);
    EXPECT_NE(at, std::string::npos) << after;
    if (at != std::string::npos) script.insert(at + after.size(), more);
  }
  return script;
}

TEST_F(RedisReserving, one_that_minds_nobody_who_was_told_a_later_moment_is_found_out) {
  const std::vector<Step> steps{{true, 2}, {true, 2}, {true, 1}};
  EXPECT_TRUE(keeps_its_promise("", 2, steps));
  EXPECT_FALSE(keeps_its_promise(sabotaged({{"local function map_of(node, i, width)\n", R"(
    if true then
      local at = width == INNER and i + 3 or i + 2
      return node[at], node[at + 1], NONE, NONE
    end
)"}}),
                                 2, steps));
}

TEST_F(RedisReserving, giving_back_what_was_not_charged_is_found_out) {
  const std::vector<Step> steps{{true, 2}, {true, 2}, {false, 1}, {true, 2}};
  EXPECT_TRUE(keeps_its_promise("", 2, steps));
  EXPECT_FALSE(keeps_its_promise(sabotaged({{"local function cancel()\n", R"(
    for _, part in ipairs(live) do
      local its = ledgers[part.i]
      its.front = its.front - part.units * its.T
    end
)"}}),
                                 2, steps));
}

// What was reserved after it counts on its being owed: given back, its units would act twice.
TEST_F(RedisReserving, a_check_gives_nothing_back_while_a_reservation_of_its_key_is_kept) {
  RedisWorld world(std::make_unique<RealRedis>(), false, {}, {.remember_denials = false});
  const store::Limit limit{.rule = {Quota::per_second(1).with_burst(10)}};
  Check check{.limit = &limit, .key = "k", .cost = Cost{4}};
  store::ReservationTerms held{.hold = std::chrono::seconds{60}};
  const auto ask = [&](Verb verb, std::uint64_t cost) {
    check.cost = Cost{cost};
    Request request{.checks = {&check, 1}, .verb = verb, .reservation = &held};
    request.on_answer = [](Request&) {};
    Request* const batch[] = {&request};
    world.store().submit(batch, {world.now(), world.now()});
    world.settle();
    EXPECT_TRUE(request.allowed()) << request.why;
    return request;
  };
  for (const bool reserves : {false, true}) {
    const Request charged = ask(Verb::check, 4);
    if (reserves) ask(Verb::reserve, 1);
    check.cost = Cost{4};
    world.store().give_back(charged, world.now());
    world.settle();
    ask(Verb::look, 1);
    EXPECT_EQ(check.decision.remaining, reserves ? 5 : 10);
  }
}

}  // namespace
}  // namespace weir::redis_reserving_test
