#include "sim/answer.hpp"

#include <gtest/gtest.h>

namespace weir::sim {
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
  EXPECT_EQ(answer({{"60/min", 100, 2, 89}, {"100/min", 0, 0, 0}}),
            "`100/min` would have denied nobody; `60/min` 2 of 28 clients (10 % of the requests), 192.0.2.1 "
            "alone with "
            "89 % of what it denied.");
  EXPECT_EQ(answer({{"60/min", 100, 2, 50}}),
            "`60/min` would have denied 2 of 28 clients (10 % of the requests).");
  EXPECT_EQ(answer({{"60/min", 0, 0, 0}, {"9/s", 0, 0, 0}}), "`60/min` and `9/s` would have denied nobody.");
  EXPECT_EQ(answer({{"1/s", 0, 0, 0}, {"2/s", 0, 0, 0}, {"3/s", 0, 0, 0}}),
            "3 of 3 limits would have denied nobody.");
  EXPECT_EQ(answer({{"1/d", 990, 1, 990}}, 1),
            "`1/d` would have denied the one client (99 % of the requests).");
}

TEST(Answer, the_mildest_and_the_strictest_stand_for_those_between) {
  EXPECT_EQ(answer({{"3/s", 300, 3, 1}, {"1/s", 500, 28, 1}, {"9/s", 10, 1, 1}}),
            "`9/s` would have denied 1 of 28 clients (1.0 % of the requests); `1/s` all 28 clients (50 % of "
            "the requests).");
}

TEST(Answer, of_suggestions) {
  SuggestReport report;
  report.log.clients = 153;
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
}

}  // namespace
}  // namespace weir::sim
