#include "service/decision_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "limits/world_test.hpp"
#include "service/decision_metrics.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using limits::compile;

constexpr std::string_view kFile = R"(
version: 1
classes: [critical, default, bulk]
lists: { bad: [mallory] }
limits:
  all:  { rate: 1000/s burst 100, reserve: 50%, leave: { bulk: 10% } }
  user:
    by: [user]
    within: all
    rate: [10/s burst 5, 20/day]
    deny: { user: "@bad" }
    overrides: [ { when: { user: gold }, guarantee: 10/s burst 2 } ]
  trial: { by: [user], rate: 1/h burst 1, shadow: until 2027-01-15 }
  ip: { by: [ip], rate: 5/s }
routes: [ { limits: [user, trial, ip] } ]
)";

struct Counts {
  limits::World world{kFile};
  DecisionCounts counts;

  void ask(std::string_view words, std::uint64_t cost = 1, std::string_view class_name = {}) {
    world.ask(words, cost, class_name);
    const bool met = world.matched.outcome == limits::Matched::Outcome::meets;
    counts.count(*world.set, world.matched, met ? &world.request : nullptr);
  }

  // The lines of a metric, without its name; "user,denied,default 1" with spaces for what stands between.
  std::string told(const std::string& name) const {
    Exposition to(Exposition::Format::prometheus);
    write_decisions(to, {{"resp", {&counts}}}, world.set.get());
    const std::string text = to.finish();
    std::string found;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string line = text.substr(at, end - at);
      at = end + 1;
      if (!line.starts_with(name + "{") || line.ends_with(" 0")) continue;
      std::string short_line;
      for (std::size_t i = name.size(); i < line.size(); ++i) {
        if (line[i] == '"') {
          const std::size_t close = line.find('"', i + 1);
          short_line += line.substr(i + 1, close - i - 1) + " ";
          i = close;
        } else if (line[i] == ' ') {
          short_line += line.substr(i + 1);
        }
      }
      found += (found.empty() ? "" : ", ") + short_line;
    }
    return found;
  }
};

TEST(DecisionCounts, each_limit_says_what_it_says) {
  Counts counts;
  for (int i = 0; i < 6; ++i) counts.ask("user=ada");
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 6, user allowed default 5, user denied default 1, trial allowed default 1, "
            "trial would_deny default 5")
      << "the gravest of two windows is the limit's";
  EXPECT_EQ(counts.told("weir_cost_total"),
            "all allowed 6, user allowed 5, user denied 1, trial allowed 1, trial would_deny 5");
  EXPECT_EQ(counts.told("weir_skipped_total"), "ip 6");
  counts.ask("user=bo", 6);
  counts.ask("user=mallory");
  counts.ask("user=cy", 2, "bulk");
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 7, all allowed bulk 1, user allowed default 5, user allowed bulk 1, user "
            "denied default "
            "1, user never default 1, user listed default 1, trial allowed default 1, trial would_deny "
            "default 6, trial "
            "would_deny bulk 1");
}

// What a guarantee's own state says is not what the limit says.
TEST(DecisionCounts, a_guarantee_is_not_a_verdict) {
  Counts counts;
  counts.ask("user=gold", 3);  // beyond the guarantee, so it borrows
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 1, user allowed default 1, trial would_deny default 1");
}

TEST(DecisionCounts, near_is_less_than_a_fifth_left) {
  Counts counts;
  for (const char* words : {"user=a ip=1", "user=a ip=1", "user=a ip=1", "user=a ip=1"}) counts.ask(words);
  EXPECT_EQ(counts.told("weir_near_limit_total"), "trial 1") << "1 of 5 left is a fifth";
  counts.ask("user=a ip=1");
  EXPECT_EQ(counts.told("weir_near_limit_total"), "user 1, trial 1, ip 1");
}

TEST(DecisionCounts, another_set_keeps_what_was_counted_of_the_limits_that_it_has) {
  Counts counts;
  auto before = counts.world.set;
  for (int i = 0; i < 3; ++i) counts.ask("user=ada");
  std::string text(kFile);
  text.replace(text.find("trial:"), 6, "other:");
  text.replace(text.find("trial, ip"), 9, "other, ip");
  counts.world.set = compile(text);
  counts.ask("user=ada");
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 4, user allowed default 4, other allowed default 1");
  std::swap(counts.world.set, before);
  counts.ask("user=ada");
  std::swap(counts.world.set, before);
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 5, user allowed default 5, other allowed default 1")
      << "answered under the set before: what has gone since is not counted";
  text.replace(text.find("critical, default, bulk"), 23, "vital, default, bulk");
  counts.world.set = compile(text);
  counts.ask("user=ada");
  EXPECT_EQ(counts.told("weir_decisions_total"),
            "all allowed default 1, user denied default 1, other would_deny default 1")
      << "with other classes all begins at 0";
}

TEST(DecisionCounts, limits_that_come_with_requests_are_one_row) {
  Counts counts;
  const store::Limit limit{.rule = core::Rule{Quota::per_second(2)}};
  store::Check checks[] = {{.limit = &limit, .key = "a", .cost = {2}},
                           {.limit = &limit, .key = "b", .cost = {3}}};
  store::Request request;
  request.checks = checks;
  store::Request* const batch[] = {&request};
  counts.world.embedded.submit(batch, {counts.world.now, counts.world.now});
  counts.counts.count(request);
  EXPECT_EQ(counts.told("weir_decisions_total"), "inline allowed  1, inline never  1");
  request.source = Source::fallback;
  request.why = "timeout";
  counts.counts.count(request);
  EXPECT_EQ(counts.told("weir_fallback_total"), "inline timeout 2");
  for (int i = 0; i < 40; ++i) {
    request.why = "cause " + std::to_string(i);
    counts.counts.count(request);
  }
  DecisionCounts::Total total;
  counts.counts.add_to(total);
  EXPECT_EQ(total.causes.size(), DecisionCounts::kMostCauses);
}

// One name for each limit, verdict, class, cause and window: however many keys come.
TEST(DecisionCounts, a_hundred_thousand_keys_are_no_more_series_than_one) {
  Counts counts;
  const auto lines = [&] {
    Exposition to(Exposition::Format::prometheus);
    write_decisions(to, {{"resp", {&counts.counts}}}, counts.world.set.get());
    const std::string text = to.finish();
    return std::count(text.begin(), text.end(), '\n');
  };
  for (int i = 0; i < 7; ++i) counts.ask("user=ada ip=1");
  const auto before = lines();
  for (int i = 0; i < 100'000; ++i) {
    counts.world.now += 1ms;
    counts.ask("user=" + std::to_string(i) + " ip=1");
  }
  EXPECT_LE(lines(), before + 2) << "the parent may have denied by now";
}

}  // namespace
}  // namespace weir::service
