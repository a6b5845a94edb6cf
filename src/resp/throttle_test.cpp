#include "resp/throttle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::resp {
namespace {

using namespace std::chrono_literals;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::string error_of(std::string_view line) {
  ThrottleParser parser;
  const auto words = split(line);
  const bool gcra = words[0] == "GCRA";
  const auto request = gcra ? parser.gcra(words) : parser.cl_throttle(words);
  return request.limit != nullptr ? "" : parser.error();
}

TEST(Throttle, max_burst_is_burst_less_one) {
  ThrottleParser parser;
  const auto words = split("CL.THROTTLE user:42 15 30 60");
  const auto request = parser.cl_throttle(words);
  ASSERT_NE(request.limit, nullptr);
  EXPECT_EQ(request.key, "user:42");
  EXPECT_EQ(request.limit->rule.quota.burst(), 16);
  EXPECT_EQ(request.limit->rule.quota.emission_interval(), 2s);
  EXPECT_EQ(request.cost.units, 1U);
}

TEST(Throttle, gcra_takes_parts_of_a_second_and_tokens) {
  ThrottleParser parser;
  const auto words = split("GCRA k 4 10 0.5 tokens 3");
  const auto request = parser.gcra(words);
  ASSERT_NE(request.limit, nullptr) << parser.error();
  EXPECT_EQ(request.limit->rule.quota.burst(), 5);
  EXPECT_EQ(request.limit->rule.quota.emission_interval(), 50ms);
  EXPECT_EQ(request.cost.units, 3U);
}

TEST(Throttle, one_quota_again_and_again_is_one_limit) {
  ThrottleParser parser;
  const auto ask = [&parser](std::string_view line) { return parser.cl_throttle(split(line)).limit; };
  const store::Limit* first = ask("CL.THROTTLE a 15 30 60");
  EXPECT_EQ(ask("CL.THROTTLE b 15 30 60 3"), first);
  const store::Limit* second = ask("CL.THROTTLE a 14 30 60");
  EXPECT_NE(second, first);
  EXPECT_NE(ask("CL.THROTTLE a 14 31 60"), second);
  EXPECT_EQ(first->rule.quota.burst(), 16) << "the first is still there";
  EXPECT_EQ(second->rule.quota.burst(), 15);
}

TEST(Throttle, limits_stay_where_they_are_until_they_are_forgotten) {
  ThrottleParser parser;
  for (int round = 0; round < 3; ++round) {
    std::vector<const store::Limit*> made;
    for (std::size_t i = 0; i < ThrottleParser::kMostLimits; ++i) {
      made.push_back(parser.cl_throttle(split("CL.THROTTLE a " + std::to_string(i) + " 30 60")).limit);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(made[i]->rule.quota.burst(), static_cast<std::int64_t>(i) + 1);
    }
    parser.forget();
  }
}

TEST(Throttle, a_limit_has_no_name_and_what_the_server_was_told) {
  ThrottleParser parser(OnStoreError::deny, {.merge = true});
  const auto words = split("GCRA k 4 10 1");
  const store::Limit* limit = parser.gcra(words).limit;
  EXPECT_EQ(limit->id, 0U);
  EXPECT_EQ(limit->on_store_error, OnStoreError::deny);
  EXPECT_TRUE(limit->sharing.merge);
  EXPECT_EQ(limit->rule.algorithm, Algorithm::gcra);
}

TEST(Throttle, errors_of_cl_throttle) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"CL.THROTTLE k 15 30", "ERR wrong number of arguments for 'cl.throttle' command"},
      {"CL.THROTTLE k 15 30 60 1 1", "ERR wrong number of arguments for 'cl.throttle' command"},
      {"CL.THROTTLE k x 30 60", "ERR max_burst: 'x' is not an integer from 0 to 9223372036854775806"},
      {"CL.THROTTLE k -1 30 60", "ERR max_burst: '-1' is not an integer from 0 to 9223372036854775806"},
      {"CL.THROTTLE k 9223372036854775807 30 60",
       "ERR max_burst: '9223372036854775807' is not an integer from 0 to 9223372036854775806"},
      {"CL.THROTTLE k 15 0 60", "ERR count: '0' is not an integer from 1 to 9223372036854775807"},
      {"CL.THROTTLE k 15 1.5 60", "ERR count: '1.5' is not an integer from 1 to 9223372036854775807"},
      {"CL.THROTTLE k 15 +1 60", "ERR count: '+1' is not an integer from 1 to 9223372036854775807"},
      {"CL.THROTTLE k 15 01 60", "ERR count: '01' is not an integer from 1 to 9223372036854775807"},
      {"CL.THROTTLE k 15 30 0", "ERR period: '0' is not an integer from 1 to 9223372036"},
      {"CL.THROTTLE k 15 30 1e3", "ERR period: '1e3' is not an integer from 1 to 9223372036"},
      {"CL.THROTTLE k 15 30 0x10", "ERR period: '0x10' is not an integer from 1 to 9223372036"},
      {"CL.THROTTLE k 15 30 9223372037", "ERR period: '9223372037' is not an integer from 1 to 9223372036"},
      {"CL.THROTTLE k 15 30 60 -1", "ERR quantity: '-1' is not an integer from 0 to 9223372036854775807"},
      {"CL.THROTTLE k 15 30 60 9223372036854775808",
       "ERR quantity: '9223372036854775808' is not an integer from 0 to 9223372036854775807"},
      {"CL.THROTTLE k 15 30 60 " + std::string(100, '9'),
       "ERR quantity: '" + std::string(32, '9') + "...' is not an integer from 0 to 9223372036854775807"},
      {"CL.THROTTLE k 18446744072 1 1",
       "ERR max_burst: 18446744072 at 1 per 1s would take longer than 2^63 ns to drain; the maximum is "
       "9223372035"},
      {"CL.THROTTLE k 0 10000000000 1",
       "ERR count: 10000000000 per 1s is more than one per nanosecond; the maximum is 1000000000"},
  };
  for (const auto& [line, error] : rows) EXPECT_EQ(error_of(line), error);
}

TEST(Throttle, errors_of_gcra_are_those_that_its_clients_know) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"GCRA k 15 30", "ERR wrong number of arguments for 'gcra' command"},
      {"GCRA k 15 30 60 TOKENS 1 1", "ERR wrong number of arguments for 'gcra' command"},
      {"GCRA k x 30 60", "ERR value is out of range, must be positive"},
      {"GCRA k +1 30 60", "ERR value is out of range, must be positive"},
      {"GCRA k 1.0 30 60", "ERR value is out of range, must be positive"},
      {"GCRA k -1 30 60", "ERR value is out of range, must be positive"},
      {"GCRA k 15 0 60", "ERR value is out of range, value must between 1 and 9223372036854775807"},
      {"GCRA k 15 -3 60", "ERR value is out of range, value must between 1 and 9223372036854775807"},
      {"GCRA k 15 x 60", "ERR value is not an integer or out of range"},
      {"GCRA k 15 30 x", "ERR value is not a valid float"},
      {"GCRA k 15 30 nan", "ERR value is not a valid float"},
      {"GCRA k 15 30 0", "ERR period must be > 0 and < 1e12"},
      {"GCRA k 15 30 -1", "ERR period must be > 0 and < 1e12"},
      {"GCRA k 15 30 inf", "ERR period must be > 0 and < 1e12"},
      {"GCRA k 15 30 1e12", "ERR period must be > 0 and < 1e12"},
      {"GCRA k 15 30 1e11", "ERR period: above the maximum (9223372036 seconds)"},
      {"GCRA k 15 30 60 TOKEN 1", "ERR syntax error"},
      {"GCRA k 15 30 60 TOKENS", "ERR Missing TOKENS value"},
      {"GCRA k 15 30 60 TOKENS -1", "ERR TOKENS: '-1' is not an integer from 0 to 9223372036854775807"},
  };
  for (const auto& [line, error] : rows) EXPECT_EQ(error_of(line), error) << line;
}

TEST(Throttle, five_integers_round_up_and_never_say_0_for_denied) {
  using Row = std::array<std::int64_t, 5>;
  EXPECT_EQ(five_integers({Verdict::allowed, 16, 15, std::nullopt, 2s}), (Row{0, 16, 15, -1, 2}));
  EXPECT_EQ(five_integers({Verdict::denied, 1, 0, 1ns, 1ns}), (Row{1, 1, 0, 1, 1}));
  EXPECT_EQ(five_integers({Verdict::denied, 1, 0, 1001ms, 2s}), (Row{1, 1, 0, 2, 2}));
  EXPECT_EQ(five_integers({Verdict::never, 5, 5, std::nullopt, 0s}), (Row{1, 5, 5, -1, 0}));
}

}  // namespace
}  // namespace weir::resp
