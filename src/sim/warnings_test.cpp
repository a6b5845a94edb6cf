#include "sim/warnings.hpp"

#include <gtest/gtest.h>

#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

struct Log {
  std::uint64_t requests = 1000;
  std::uint64_t clients = 100;
  std::vector<std::string> names{"192.0.2.1", "192.0.2.2"};
  std::string key = "ip";
  std::int64_t span_s = 2 * 86'400;
  std::int64_t stamps_ns = 1;
  std::vector<const char*> limits{"100/min"};
  std::uint64_t denied = 5;
};

std::vector<std::string> warned(const Log& said) {
  LogReport log;
  log.stats.requests = said.requests;
  log.clients = said.clients;
  log.key = said.key;
  log.first_ns = 1'500'000'000 * kSecond;
  log.last_ns = log.first_ns + said.span_s * kSecond;
  log.stamps_ns = said.stamps_ns;
  std::vector<TriedRule> tried;
  for (const char* const each : said.limits) tried.push_back({core::Rule::parse(each).value(), said.denied});
  return warnings_of(log, said.names, tried);
}

using Texts = std::vector<std::string>;

TEST(Warnings, none_for_a_log_as_it_should_be) { EXPECT_EQ(warned({}), Texts{}); }

TEST(Warnings, nearly_every_request_is_a_new_client) {
  const Texts expected{
      "nearly every request is a new client (10,488 of 10,488 requests), so no limit denies much: ip may "
      "hold a "
      "port, a time or a number of the request; --key chooses what makes a client"};
  EXPECT_EQ(warned({.requests = 10'488, .clients = 10'488}), expected);
  EXPECT_EQ(warned({.requests = 1000, .clients = 900}).size(), 1U);
  EXPECT_EQ(warned({.requests = 1000, .clients = 899}), Texts{});
  EXPECT_EQ(warned({.requests = 20, .clients = 20}).size(), 1U);
  EXPECT_EQ(warned({.requests = 19, .clients = 19}), Texts{}) << "too few to tell";
}

TEST(Warnings, one_client) {
  const Texts expected{
      "all 1,000 requests are of one client: if a proxy passes them on, the clients are in another field, "
      "such as "
      "X-Forwarded-For; --key chooses it"};
  EXPECT_EQ(warned({.clients = 1}), expected);
  EXPECT_EQ(warned({.requests = 3, .clients = 1}), Texts{});
}

TEST(Warnings, names_that_are_not_names) {
  const auto like = [](const char* what, const char* key = "ip") {
    return Texts{std::string("the clients (by ") + key + ") have names that look like " + what +
                 ": the lines may be laid out differently; --format and --key say how"};
  };
  EXPECT_EQ(warned({.names = {"Nov", "Dec"}}), like("months"));
  EXPECT_EQ(warned({.names = {"Nov 21 05:49:47"}}), like("months"));
  for (const char* const time :
       {"05:49:47", "2026-11-21T05:49:47.123Z", "[21/Nov/2026:05:49:47", "<2026-11-21T05:49:47>",
        "2026/11/21", "1795240187", "1795240187.123", "1795240187123"})
    EXPECT_EQ(warned({.names = {time}}), like("times")) << time;
  for (const char* const path : {"/v1/x", "https://example.com/"}) {
    EXPECT_EQ(warned({.names = {path}}), like("paths")) << path;
    for (const char* const key : {"path", "uri", "url", "request", "http_referer", "target"})
      EXPECT_EQ(warned({.names = {path}, .key = key}), Texts{}) << key << ": asked for";
  }
  for (const char* const name :
       {"192.0.2.1", "2001:db8::1", "anna", "Novak", "4711", "2026", "12345678901", "a/b", "-"})
    EXPECT_EQ(warned({.names = {name}}), Texts{}) << name;
  EXPECT_EQ(warned({.names = {"Nov", "anna"}}), Texts{}) << "half";
}

TEST(Warnings, a_log_shorter_than_what_a_limit_counts_by) {
  EXPECT_EQ(warned({.span_s = 3 * 3600, .limits = {"60/min", "200/h", "1000/d", "5000/d burst 100"}}),
            Texts{"the log spans 3h, less than the period of '1000/d' and '5000/d burst 100': what would be "
                  "denied in "
                  "a whole period is not known"});
  EXPECT_EQ(warned({.span_s = 86'398, .limits = {"1000/d"}}), Texts{}) << "a day's log";
  EXPECT_EQ(warned({.span_s = 82'080, .limits = {"1000/d"}}), Texts{}) << "nineteen twentieths of a day";
  EXPECT_EQ(warned({.span_s = 82'079, .limits = {"1000/d"}}).size(), 1U);
  EXPECT_EQ(warned({.requests = 0, .clients = 0, .names = {}, .span_s = 0}), Texts{}) << "it spans no time";
}

TEST(Warnings, whole_seconds) {
  EXPECT_EQ(warned({.stamps_ns = kSecond, .limits = {"10/s", "60/min"}}),
            Texts{"the times are whole seconds, so requests of one second count as simultaneous: '10/s' may "
                  "deny less "
                  "live than here; --spread distributes them"});
  EXPECT_EQ(warned({.stamps_ns = kSecond, .limits = {"10/s burst 500"}}), Texts{});
  EXPECT_EQ(warned({.stamps_ns = 1, .limits = {"10/s"}}), Texts{});
  EXPECT_EQ(warned({.stamps_ns = kSecond, .limits = {"10/s"}, .denied = 0}), Texts{}) << "nothing to be less";
  EXPECT_EQ(
      warned({.stamps_ns = 60 * kSecond, .limits = {"60/min"}}),
      Texts{"the times are whole minutes, so requests of one minute count as simultaneous: '60/min' may "
            "deny less live than here; --spread distributes them"});
}

TEST(Warnings, whole_seconds_matter_to_a_limit_that_drains_within_ten) {
  const auto count = [](const char* limit) {
    return warned({.stamps_ns = kSecond, .limits = {limit}}).size();
  };
  EXPECT_EQ(count("1/s"), 1U);
  EXPECT_EQ(count("59/min burst 1"), 0U) << "a stamp has room for one request anyway";
  EXPECT_EQ(count("10/s burst 100"), 1U);
  EXPECT_EQ(count("10/s burst 101"), 0U);
  EXPECT_EQ(warned({.stamps_ns = 1, .limits = {"1000000000/s burst 5"}}), Texts{}) << "no whole seconds";
  EXPECT_EQ(warned({.requests = 19, .clients = 5, .stamps_ns = kSecond, .limits = {"10/s"}}), Texts{})
      << "too few to tell";
}

}  // namespace
}  // namespace weir::sim
