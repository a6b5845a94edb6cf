#include "sim/answer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace weir::inline v0_1::sim {
namespace {

struct Denied {
  const char* limit;
  std::uint64_t requests;
  std::uint64_t clients;
  std::uint64_t by_the_worst;
};

std::string answer(const std::vector<Denied>& limits, std::uint64_t clients = 28) {
  ReplayReport report;
  report.log.stats.requests = 1000;
  report.log.clients = clients;
  for (const Denied& each : limits) {
    LimitReport& limit = report.limits.emplace_back();
    limit.limit = each.limit;
    limit.denied = each.requests;
    limit.allowed = 1000 - each.requests;
    limit.clients_denied = each.clients;
    if (each.requests > 0)
      limit.worst.push_back({"192.0.2.1", 0, each.requests, each.by_the_worst, 0, std::nullopt});
  }
  return answer_of(report);
}

TEST(Answer, one_sentence_of_a_replay) {
  EXPECT_EQ(answer({{"60/min", 60, 2, 53}, {"100/min", 0, 0, 0}}),
            "`100/min` would have denied nobody; `60/min` 2 of 28 clients, one of them, 192.0.2.1, with 88 % "
            "of the "
            "denials.");
  EXPECT_EQ(answer({{"60/min", 100, 2, 50}}),
            "`60/min` would have denied 2 of 28 clients (10 % of the requests).");
  EXPECT_EQ(answer({{"60/min", 100, 1, 100}}),
            "`60/min` would have denied 1 of 28 clients, which sent 10 % of all requests.");
  EXPECT_EQ(answer({{"60/min", 0, 0, 0}, {"9/s", 0, 0, 0}}), "`60/min` and `9/s` would have denied nobody.");
  EXPECT_EQ(answer({{"1/s", 0, 0, 0}, {"2/s", 0, 0, 0}, {"3/s", 0, 0, 0}}),
            "3 of 3 limits would have denied nobody.");
  EXPECT_EQ(answer({{"1/d", 990, 1, 990}}, 1),
            "`1/d` would have denied the one client (99 % of the requests).");
}

// A report of one limit that denied two clients, the first of which asked as `requests` say, in minutes.
std::string about_one_who_asked(std::vector<std::uint64_t> requests, std::uint64_t all = 1'000'000) {
  ReplayReport report;
  report.log.stats.requests = all;
  report.log.clients = 28;
  LimitReport& limit = report.limits.emplace_back();
  limit.limit = "60/min";
  limit.denied = 100;
  limit.allowed = all - 100;
  limit.clients_denied = 2;
  const std::uint64_t sum = std::accumulate(requests.begin(), requests.end(), std::uint64_t{0});
  limit.worst.push_back({"192.0.2.1", 0, sum, 89, 0, Timeline{0, 60, std::move(requests), {}}});
  const std::string text = answer_of(report);
  const std::string before =
      "`60/min` would have denied 2 of 28 clients, one of them, 192.0.2.1, with 89 % of the denials";
  EXPECT_TRUE(text.starts_with(before)) << text;
  return text.substr(std::min(before.size(), text.size()));
}

TEST(Answer, a_pace_is_said_only_of_a_client_that_kept_it) {
  const auto minutes = [](std::size_t count, std::uint64_t each) {
    return std::vector<std::uint64_t>(count, each);
  };
  EXPECT_EQ(about_one_who_asked(minutes(360, 50)), ", which asked every 1.2s for 6h.");
  EXPECT_EQ(about_one_who_asked(minutes(90, 600)), ", which asked 10 times a second for 1h30m.");
  EXPECT_EQ(about_one_who_asked(minutes(360, 1)), ", which asked every 1m for 6h.");
  EXPECT_EQ(about_one_who_asked(minutes(90, 72)), ", which asked 1.2 times a second for 1h30m.");
  EXPECT_EQ(about_one_who_asked(minutes(90, 74'040)), ", which asked 1,234 times a second for 1h30m.");
  EXPECT_EQ(about_one_who_asked(minutes(90, 6'000)), ", which asked 100 times a second for 1h30m.");
  // Not "1 times a second".
  EXPECT_EQ(about_one_who_asked(minutes(16, 60)), ", which asked every 1s for 16m.");
  EXPECT_EQ(about_one_who_asked(minutes(16, 62)), ", which asked every 970ms for 16m.");
  // Unevenly, but never far from the mean.
  std::vector<std::uint64_t> uneven = minutes(16, 50);
  for (std::size_t i = 0; i < uneven.size(); i += 2) uneven[i] = 28;
  EXPECT_EQ(about_one_who_asked(uneven), ", which asked every 1.54s for 16m.");
  // With a pause of a quarter of the time; in one go; too short; too few.
  std::vector<std::uint64_t> pause = minutes(16, 50);
  std::fill(pause.begin() + 6, pause.begin() + 10, 0);
  EXPECT_EQ(about_one_who_asked(pause), ".");
  std::vector<std::uint64_t> once = minutes(16, 1);
  once[8] = 5000;
  EXPECT_EQ(about_one_who_asked(once), ".");
  EXPECT_EQ(about_one_who_asked(minutes(7, 50)), ".");
  EXPECT_EQ(about_one_who_asked(minutes(8, 50)), ", which asked every 1.2s for 8m.");
  EXPECT_EQ(about_one_who_asked(minutes(16, 7)), ".");
  // Just enough requests, without those of the first and the last minute, and one too few.
  EXPECT_EQ(about_one_who_asked(minutes(12, 10)), ", which asked every 6s for 12m.");
  std::vector<std::uint64_t> too_few = minutes(12, 10);
  too_few[5] = 9;
  EXPECT_EQ(about_one_who_asked(too_few), ".");
  // One minute of fourteen may be below half of the mean; two may not, and two may not be above twice the
  // mean.
  std::vector<std::uint64_t> odd = minutes(16, 50);
  odd[4] = 20;
  EXPECT_EQ(about_one_who_asked(odd), ", which asked every 1.25s for 16m.");
  odd[9] = 20;
  EXPECT_EQ(about_one_who_asked(odd), ".");
  odd[4] = odd[9] = 150;
  EXPECT_EQ(about_one_who_asked(odd), ".");
  // Every other minute.
  std::vector<std::uint64_t> every_other = minutes(16, 0);
  for (std::size_t i = 0; i < every_other.size(); i += 2) every_other[i] = 100;
  EXPECT_EQ(about_one_who_asked(every_other), ".");
  // No pace, but a good part of the log.
  EXPECT_EQ(about_one_who_asked(pause, 5'000), ", which sent 12 % of all requests.");
}

TEST(Answer, what_a_client_did_is_said_once) {
  EXPECT_EQ(
      answer({{"3/s", 300, 3, 200}, {"1/s", 500, 28, 400}}),
      "`3/s` would have denied 3 of 28 clients, one of them, 192.0.2.1, with 67 % of the denials, which sent "
      "30 % of all requests; `1/s` all 28 clients, 192.0.2.1 with 80 % of the denials.");
}

TEST(Answer, parts_of_one_whole_do_not_compete) {
  ReplayReport report;
  report.parts = true;
  report.log.stats.requests = 10;
  report.log.clients = 2;
  report.limits.resize(2);
  report.limits[0].limit = "by plan";
  report.limits[1].limit = "free";
  EXPECT_EQ(answer_of(report), "`by plan` would have denied nobody.");
}

TEST(Answer, a_limits_file_has_its_name) {
  ReplayReport report;
  report.parts = true;
  report.file.emplace().name = "limits.yaml";
  report.log.stats.requests = 10;
  report.log.clients = 2;
  LimitReport& all = report.limits.emplace_back();
  all.limit = "all limits";
  EXPECT_EQ(answer_of(report), "`limits.yaml` would have denied nobody.");
  all.denied = 3;
  all.allowed = 7;
  all.clients_denied = 2;
  EXPECT_EQ(answer_of(report), "`limits.yaml` would have denied all 2 clients (30 % of the requests).");
}

TEST(Answer, the_mildest_and_the_strictest_stand_for_those_between) {
  EXPECT_EQ(answer({{"3/s", 300, 3, 1}, {"1/s", 500, 28, 1}, {"9/s", 10, 1, 1}}),
            "`9/s` would have denied 1 of 28 clients (1.0 % of the requests); `1/s` all 28 clients (50 % of "
            "the requests).");
}

TEST(Answer, of_suggestions) {
  SuggestReport report;
  report.clients = 153;
  EXPECT_EQ(answer_of(report), "No limit meets the criterion.");
  const auto figures = [](const char* limit, std::uint64_t clients) {
    return Figures{limit, 0, 0, 0, 0, clients};
  };
  report.suggestions = {{"s", figures("7/s", 1), figures("7/s", 1), false},
                        {"min", figures("56/min", 1), figures("60/min", 1), false}};
  EXPECT_EQ(answer_of(report), "`60/min` would have denied 1 of 153 clients.");
  report.knee = {{"knee", figures("5/min burst 60", 1), figures("5/min burst 60", 1), false}};
  report.today = {figures("100/min", 0)};
  EXPECT_EQ(answer_of(report),
            "`60/min` would have denied 1 of 153 clients, and so would `5/min burst 60`; today\u2019s "
            "`100/min` nobody.");
  report.today.clear();
  report.knee[0].rounded.clients_denied = 153;
  EXPECT_EQ(answer_of(report),
            "`60/min` would have denied 1 of 153 clients; `5/min burst 60` all 153 clients.");
  report.knee[0].rounded = report.suggestions[1].rounded;
  EXPECT_EQ(answer_of(report), "`60/min` would have denied 1 of 153 clients.") << "not twice the same";
  report.suggestions[1].beyond_the_log = true;
  report.knee.clear();
  EXPECT_EQ(answer_of(report), "`7/s` would have denied 1 of 153 clients.")
      << "the log spans less than a minute";
}

TEST(Answer, of_two_files) {
  FileDifference two;
  EXPECT_EQ(answer_of(two), "The two files say the same.");
  two.said.resize(2);
  EXPECT_EQ(answer_of(two), "2 differences.");
  const auto answer_to = [&two](std::uint64_t before, std::uint64_t after) {
    ComparisonReport log;
    log.requests = 45'300;
    log.denied_before = before;
    log.denied_after = after;
    log.otherwise.push_back({"user", "ip", 3});
    two.log = std::make_unique<const ComparisonReport>(std::move(log));
    return answer_of(two);
  };
  EXPECT_EQ(answer_to(7, 19), "The new file would have denied 12 more requests of 45,300: 19 instead of 7.");
  EXPECT_EQ(answer_to(7, 6), "The new file would have denied 1 fewer request of 45,300: 6 instead of 7.");
  EXPECT_EQ(answer_to(1200, 1200), "As many requests would be denied, 1,200, but not the same.");
  two.log = std::make_unique<const ComparisonReport>();
  EXPECT_EQ(answer_of(two), "2 differences, and nobody in the log would be decided otherwise.");
}

}  // namespace
}  // namespace weir::sim
