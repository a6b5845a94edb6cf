#include "logs/span.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace weir::inline v0_1::logs {
namespace {

TEST(Span, durations) {
  struct Case {
    const char* text;
    std::int64_t unit_ns;
    std::optional<std::int64_t> ns;
  };
  const Case rows[] = {
      {"0", 1'000'000'000, 0},
      {"0.250", 1'000'000'000, 250'000'000},
      {"0.1234567891", 1'000'000'000, 123'456'789},
      {"1.2e-05", 1'000'000'000, 12'000},
      {"1e3", 1'000'000, 1'000'000'000},
      {"123", 1000, 123'000},
      {"0/0/1/2/3", 1'000'000, 3'000'000},
      {"0/0/1/2/+3", 1'000'000, 3'000'000},
      {"0.00000000000000000000000000001", 1'000'000'000, 0},
      {"4611686018427387904", 1, std::int64_t{1} << 62},
      {"4611686018427387905", 1, std::nullopt},
      {"99999999999999999999", 1, std::nullopt},
      {"9e99", 1, std::nullopt},
      {"", 1, std::nullopt},
      {"-", 1, std::nullopt},
      {"-1", 1, std::nullopt},
      {".5", 1, std::nullopt},
      {"5.", 1, std::nullopt},
      {"5s", 1, std::nullopt},
      {"1e", 1, std::nullopt},
      {"1e999", 1, std::nullopt},
      {"nan", 1, std::nullopt},
      {"0x10", 1, std::nullopt},
      {"0/0/1/2/-1", 1, std::nullopt},
  };
  for (const Case& row : rows) EXPECT_EQ(read_duration(row.text, row.unit_ns), row.ns) << row.text;
}

KnownSpan known(std::string_view format, std::string_view field, const std::vector<std::string>& fields,
                std::string_view stamp = "", bool own_time = false) {
  WantedSpan wanted;
  wanted.set_field(field);
  if (!stamp.empty()) wanted.set_stamp(stamp);
  return span_of(format, wanted, own_time, [&](std::string_view name) {
    return std::find(fields.begin(), fields.end(), name) != fields.end();
  });
}

TEST(Span, each_program_has_its_own) {
  struct Case {
    const char* format;
    const char* field;
    std::vector<std::string> fields;
    const char* found;
    std::int64_t unit_ns;
    SpanEnd stamp;
  };
  const Case rows[] = {
      {"combined", "", {"rt"}, "rt", 1'000'000'000, SpanEnd::end},
      {"haproxy", "", {"timers"}, "timers", 1'000'000, SpanEnd::begin},
      {"envoy", "", {"duration"}, "duration", 1'000'000, SpanEnd::begin},
      {"jsonl", "", {"start_time", "duration"}, "duration", 1'000'000, SpanEnd::begin},
      {"jsonl", "", {"ts", "duration"}, "duration", 1'000'000'000, SpanEnd::end},
      {"jsonl", "", {"StartUTC", "Duration"}, "Duration", 1, SpanEnd::begin},
      {"jsonl", "", {"started_at", "latencies.request"}, "latencies.request", 1'000'000, SpanEnd::begin},
      {"jsonl", "", {"time", "request_time"}, "request_time", 1'000'000'000, SpanEnd::end},
      {"squid", "", {"elapsed"}, "elapsed", 1'000'000, SpanEnd::end},
      {"w3c", "", {"#Version", "time-taken"}, "time-taken", 1'000'000'000, SpanEnd::end},
      {"w3c", "", {"#Software", "time-taken"}, "time-taken", 1'000'000, SpanEnd::end},
      {"envoy", "upstream_time:us", {}, "upstream_time", 1000, SpanEnd::begin},
      {"jsonl", "took:ms", {"start_time"}, "took", 1'000'000, SpanEnd::begin},
  };
  for (const Case& row : rows) {
    const KnownSpan span = known(row.format, row.field, row.fields);
    EXPECT_EQ(span.field, row.found) << row.format;
    EXPECT_EQ(span.unit_ns, row.unit_ns) << row.format;
    EXPECT_EQ(span.stamp, row.stamp) << row.format;
  }
}

TEST(Span, what_is_not_known_has_to_be_said) {
  const auto error = [](auto&&... of) -> std::string {
    try {
      known(of...);
    } catch (const std::runtime_error& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(
      error("csv", "", std::vector<std::string>{"took"}),
      "duration: no field of this log is known to hold how long a request took; --duration FIELD:UNIT names "
      "it, as in request_time:s");
  EXPECT_EQ(error("csv", "took", std::vector<std::string>{"took"}),
            "duration: what 'took' counts by is not known; say took:s, :ms, :us or :ns");
  const std::string stamp =
      "stamp: whether a line has the time at which a request began or ended is not known; say --stamp begin "
      "(as Apache writes) or --stamp end (as nginx does)";
  EXPECT_EQ(error("combined", "extra[0]:us", std::vector<std::string>{}), stamp);
  EXPECT_EQ(error("haproxy", "", std::vector<std::string>{"timers"}, "", true), stamp);
  EXPECT_EQ(error("combined", "extra[0]:us", std::vector<std::string>{}, "middle"),
            "stamp: 'middle' is neither begin nor end, of a request, which the time of its line is");
  EXPECT_EQ(known("combined", "extra[0]:us", {}, "begin").unit_ns, 1000);
}

}  // namespace
}  // namespace weir::logs
