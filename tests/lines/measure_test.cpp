// What those who wait make of their limits: how much of each is used, and how long each of them waits. In a
// process, and by two servers that share a Redis a millisecond away.
//
// Through Redis the Measure takes a part of what it takes in a process, and all of it with WEIR_LONG=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/simulated_redis.hpp"
#include "core/chance_test.hpp"
#include "lines/server.hpp"

namespace weir::inline v0_1::lines {
namespace {

using namespace std::chrono_literals;
using store::Request;
using store::Verb;
using store::conformance::SimulatedRedis;

enum class Where : std::uint8_t { in_a_process, two_servers };

// Callers who do alike, of whom that many are in line all the time.
struct Group {
  std::vector<std::size_t> limits;
  std::size_t callers;
  std::int64_t least, most;                      // what each costs
  std::int64_t least_times = 1, most_times = 1;  // the estimate, in costs
  std::function<nanoseconds(std::uint64_t estimate)> call =
      nullptr;  // how long it takes, at most; half at least
};

struct Custom {
  std::vector<std::string_view> limits;  // rules
  std::vector<Group> groups;
  bool told = false;      // one has been told a moment ahead, all the time
  nanoseconds warm = 0s;  // what is used before is not counted
};

class Minute {
 public:
  Minute(std::uint64_t number, const Custom& custom, Where where) : custom_(custom), chance_(number) {
    if (where == Where::in_a_process)
      servers_.push_back(std::make_unique<Server>());
    else
      for (int i = 0; i < 2; ++i) servers_.push_back(std::make_unique<Server>(redis_, 1ms));
    begin_ = now() + custom.warm;
    end_ = begin_ + 60s;
    for (std::size_t i = 0; i < custom.limits.size(); ++i)
      limits_.push_back({.rule = core::Rule::parse(custom.limits[i]).value(),
                         .id = 1 + i,
                         .name = std::string_view("klm").substr(i, 1)});
    used.resize(limits_.size());
  }

  void pass() {
    for (const Group& group : custom_.groups)
      for (std::size_t i = 0; i < group.callers; ++i) come(group, *servers_[i % servers_.size()]);
    if (custom_.told) tell();
    while (now() < end_) {
      nanoseconds next = end_;
      for (const auto& each : servers_) next = std::min(next, std::max(each->next(), now()));
      if (!calls_.empty()) next = std::min(next, calls_.begin()->first);
      if (custom_.told) next = std::min(next, std::max(told_->moment, now()));
      for (const auto& each : servers_) each->pass(next);
      while (!calls_.empty() && calls_.begin()->first <= now()) end(*calls_.extract(calls_.begin()).mapped());
      if (custom_.told && told_->moment <= now()) {
        count(*told_);
        tell();
      }
      for (Caller* const each : std::exchange(left_, {})) come(*each->group, *each->server);
    }
    for (const Caller* const each : in_line_) judge(*each);
  }
  // Of a rate's quota or a slot's time, without what was used before.
  std::vector<double> used;
  // How much longer one waited than all that stood in line before it take one after the other; the most.
  nanoseconds late{0};

 private:
  struct Caller : Request {
    Minute* its = nullptr;
    Server* server = nullptr;
    const Group* group = nullptr;
    std::vector<store::Check> all;
    store::ReservationTerms terms;
    std::uint64_t cost = 0;
    nanoseconds moment = nanoseconds::max();
    nanoseconds came{0};
    nanoseconds patience{0};  // until then it acts
  };

  nanoseconds now() const { return servers_[0]->now(); }
  static bool is_slot(const store::Limit& limit) { return limit.rule.algorithm == Algorithm::in_flight; }

  Caller& make(const Group* group, Server& server, Verb verb, std::uint64_t cost, std::uint64_t estimate) {
    callers_.push_back(std::make_unique<Caller>());
    Caller& caller = *callers_.back();
    caller.its = this;
    caller.server = &server;
    caller.group = group;
    caller.cost = cost;
    if (group != nullptr)
      for (const std::size_t i : group->limits)
        caller.all.push_back(
            {.limit = &limits_[i], .key = limits_[i].name, .cost = Cost{is_slot(limits_[i]) ? 1 : estimate}});
    caller.checks = caller.all;
    caller.verb = verb;
    caller.reservation = &caller.terms;
    return caller;
  }
  void submit(Caller& caller) {
    caller.on_answer = [](Request& request) {
      auto& self = static_cast<Caller&>(request);
      self.its->on_answer(self);
    };
    Request* const one = &caller;
    const store::Arrival when{now(), now()};
    if (caller.verb == Verb::reserve)
      caller.server->line().reserve(caller, when);
    else
      caller.server->line().submit({&one, 1}, when);
    if (caller.state == Request::State::answered) on_answer(caller);
    caller.server->settle();
  }
  void on_answer(Caller& caller) {
    EXPECT_EQ(caller.fault, Fault::none);
    if (caller.cost == 0) return;  // a settlement
    EXPECT_TRUE(caller.allowed());
    if (&caller == told_) {
      caller.moment = now() + caller.terms.wait;
      return;
    }
    in_line_.erase(&caller);
    judge(caller);
    count(caller);
    left_.push_back(&caller);
    if (!caller.group->call) return;
    const auto half = caller.group->call(estimate_of(caller)).count() / 2;
    const nanoseconds length{half + chance_.up_to(half)};
    calls_.emplace(now() + length, &caller);
    for (const std::size_t i : caller.group->limits) {
      const auto slots = static_cast<double>(limits_[i].rule.quota.burst());
      const auto counted = std::min(now() + length, end_) - std::max(now(), begin_);
      if (is_slot(limits_[i]) && counted > 0s)
        used[i] += std::chrono::duration<double>(counted) / 60s / slots;
    }
  }
  void judge(const Caller& caller) {
    if (caller.came >= begin_) late = std::max(late, now() - caller.patience);
  }
  static std::uint64_t estimate_of(const Caller& caller) { return caller.all[0].cost.units; }
  void count(const Caller& caller) {
    if (now() < begin_) return;
    for (const std::size_t i : caller.group->limits)
      if (!is_slot(limits_[i]))
        used[i] += static_cast<double>(caller.cost) *
                   std::chrono::duration<double>(limits_[i].rule.quota.emission_interval()) / 60s;
  }
  void come(const Group& group, Server& server) {
    const auto cost = static_cast<std::uint64_t>(group.least + chance_.up_to(group.most - group.least));
    const auto times =
        static_cast<std::uint64_t>(group.least_times + chance_.up_to(group.most_times - group.least_times));
    Caller& caller = make(&group, server, Verb::acquire, cost, cost * times);
    caller.terms = {.max_wait = 24h, .hold = group.call ? 24h : 0s};
    in_line_.insert(&caller);
    caller.came = caller.patience = now();
    for (const Caller* const each : in_line_) caller.patience += takes(*each);
    submit(caller);
  }
  // A call that takes slots is over, and then as much time has passed as its units take at the slowest.
  nanoseconds takes(const Caller& caller) const {
    nanoseconds longest{0};
    bool has_slot = false;
    for (const store::Check& each : caller.all) {
      has_slot = has_slot || is_slot(*each.limit);
      if (!is_slot(*each.limit))
        longest = std::max(
            longest, static_cast<std::int64_t>(each.cost.units) * each.limit->rule.quota.emission_interval());
    }
    return longest + (has_slot ? caller.group->call(estimate_of(caller)) : 0s);
  }
  void end(const Caller& call) {
    Caller& settlement = make(nullptr, *call.server, Verb::settle, 0, 0);
    settlement.terms = {.id = call.terms.id, .actual = call.cost};
    submit(settlement);
  }
  void tell() {
    told_ = &make(&custom_.groups[0], *servers_[0], Verb::reserve, 10, 10);
    told_->terms = {.max_wait = 24h};
    submit(*told_);
  }

  const Custom& custom_;
  std::vector<store::Limit> limits_;
  core::Chance chance_;
  std::vector<std::unique_ptr<Caller>> callers_;
  SimulatedRedis redis_;
  std::vector<std::unique_ptr<Server>> servers_;
  nanoseconds begin_{0}, end_{0};
  std::set<const Caller*> in_line_;
  std::multimap<nanoseconds, Caller*> calls_;
  std::vector<Caller*> left_;  // the line, to act
  Caller* told_ = nullptr;
};

// Sixty callers, under 100/s burst 300, who cost less than they are held to. The figures are those of a rule
// that keeps the promise; cost / estimate x (1 + B x T / a call's length) is the most. The first minute's
// burst is in it.
struct Row {
  std::int64_t least, most;  // the estimate, in costs
  double length;             // of a call, at most, in (burst - estimate) x T
  double share;
};
constexpr std::array<Row, 9> kRows = {{{2, 2, 0.3, 1.02},
                                       {2, 2, 1, 0.99},
                                       {2, 2, 2, 0.83},
                                       {5, 5, 0.3, 0.99},
                                       {5, 5, 1, 0.47},
                                       {5, 5, 2, 0.33},
                                       {2, 5, 0.3, 1.00},
                                       {2, 5, 1, 0.67},
                                       {2, 5, 2, 0.48}}};

struct Variant {
  std::size_t rates = 1;
  bool told = false;
};
constexpr std::array<Variant, 3> kVariants = {{{}, {.rates = 2}, {.told = true}}};

void expect_share(Where where, int times, const Variant& variant, const Row& row) {
  const Custom custom{
      .limits = std::vector<std::string_view>(variant.rates, "100/s burst 300"),
      .groups = {{.limits = variant.rates == 1 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1},
                  .callers = 60,
                  .least = 5,
                  .most = 15,
                  .least_times = row.least,
                  .most_times = row.most,
                  .call =
                      [&](std::uint64_t estimate) {
                        const double units = row.length * (300.0 - static_cast<double>(estimate));
                        return std::chrono::duration_cast<nanoseconds>(units *
                                                                       std::chrono::duration<double>(10ms));
                      }}},
      .told = variant.told};
  double sum = 0;
  for (int i = 0; i < times; ++i) {
    Minute minute(static_cast<std::uint64_t>(i), custom, where);
    minute.pass();
    sum += *std::min_element(minute.used.begin(), minute.used.end());
  }
  EXPECT_GE(sum / times, row.share) << row.least << " to " << row.most << " x, " << row.length
                                    << (variant.rates > 1 ? ", two rates" : "")
                                    << (variant.told ? ", one is told" : "");
}

TEST(Measure, in_a_process) {
  for (const Variant& variant : kVariants)
    for (const Row& row : kRows) expect_share(Where::in_a_process, 10, variant, row);
}

TEST(Measure, by_two_servers) {
  const bool all = core::Chance::is_long();
  for (std::size_t variant = 0; variant < kVariants.size(); ++variant)
    for (std::size_t row = all ? 0 : variant; row < kRows.size(); row += all ? 1 : kVariants.size())
      expect_share(Where::two_servers, all ? 10 : 1, kVariants[variant], kRows[row]);
}

// Those who need several limits that others keep busy.
nanoseconds briefly(std::uint64_t) { return 1s; }

const std::array<std::pair<const char*, Custom>, 3> kBusy = {{
    {"two rates",
     {.limits = {"100/s burst 100", "100/s burst 100"},
      .groups = {{{0}, 20, 1, 10}, {{1}, 20, 1, 10}, {{0, 1}, 10, 1, 10}}}},
    {"a rate and slots",
     {.limits = {"100/s burst 20", "in_flight=5"},
      .groups = {{{0}, 20, 1, 10}, {{0, 1}, 10, 1, 10, 1, 1, briefly}, {{1}, 10, 1, 1, 1, 1, briefly}}}},
    {"a rate a hundred times faster",
     {.limits = {"2/s burst 10", "200/s burst 10"}, .groups = {{{0, 1}, 10, 1, 5}, {{1}, 10, 1, 5}}}},
}};

void expect_used(Where where, const char* name, Custom custom) {
  custom.warm = 10s;
  Minute minute(0, custom, where);
  minute.pass();
  for (std::size_t i = 0; i < minute.used.size(); ++i) {
    EXPECT_GE(minute.used[i], custom.limits[i].starts_with("in_flight") ? 0.9 : 0.95)
        << name << ", " << custom.limits[i];
  }
  EXPECT_LE(minute.late, where == Where::in_a_process ? 0ms : 400ms) << name;
}

TEST(Busy, in_a_process) {
  for (const auto& [name, custom] : kBusy) expect_used(Where::in_a_process, name, custom);
}

TEST(Busy, by_two_servers) {
  for (const auto& [name, custom] : kBusy) expect_used(Where::two_servers, name, custom);
}

}  // namespace
}  // namespace weir::lines
